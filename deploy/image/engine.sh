#!/usr/bin/env bash
# engine.sh COMMAND…: runs podman, buildah or podman-compose without a daemon. Images and containers are in target/image,
# separate from those of the machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(realpath -m "${CARGO_TARGET_DIR:-$here/../../target}")/image
mkdir -p "$folder"
new=$(mktemp "$folder/storage.XXXXXX")
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s/storage"\nrunroot = "%s/run"\n' "$folder" "$folder" > "$new"
mv "$new" "$folder/storage.conf"
export CONTAINERS_STORAGE_CONF="$folder/storage.conf" CONTAINERS_CONF="$here/containers.conf" BUILDAH_ISOLATION=chroot
exec "$@"
