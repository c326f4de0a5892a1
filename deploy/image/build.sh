#!/usr/bin/env bash
# build.sh PROGRAM IMAGE: makes the image of deploy/Dockerfile with a program that is built already.
set -euo pipefail
program=$(realpath "$1") image=$2
cd "$(dirname "$0")"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
./base.sh
install -m 755 "$program" "$folder/leitong"
build() { ./engine.sh buildah build --quiet --layers --network host "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }; }
build --file ../Dockerfile --target runtime --tag localhost/leitong-runtime ../..
printf 'FROM localhost/leitong-runtime\nCOPY leitong /usr/local/bin/leitong\n' > "$folder/Dockerfile"
former=$(./engine.sh podman image inspect --format '{{.Id}}' "$image" 2> /dev/null || true)
build --tag "$image" "$folder"
# Each build leaves a whole copy of the program otherwise.
now=$(./engine.sh podman image inspect --format '{{.Id}}' "$image")
[ -z "$former" ] || [ "$former" = "$now" ] || ./engine.sh podman rmi "$former" > /dev/null
