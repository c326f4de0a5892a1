#!/usr/bin/env bash
# build.sh PROGRAM IMAGE: builds the image of deploy/Dockerfile with an existing program.
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
# Otherwise each build leaves a copy of the program.
now=$(./engine.sh podman image inspect --format '{{.Id}}' "$image")
[ -z "$former" ] || [ "$former" = "$now" ] || ./engine.sh podman rmi "$former" > /dev/null
