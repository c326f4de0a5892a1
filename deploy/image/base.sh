#!/usr/bin/env bash
# base.sh: builds the image debian:bookworm-slim from Debian's packages unless it exists, for machines without access to
# an image registry. To build a newer one:  deploy/image/engine.sh podman rmi debian:bookworm-slim
# shellcheck disable=SC2016
set -euo pipefail
cd "$(dirname "$0")"
name=docker.io/library/debian:bookworm-slim
! ./engine.sh podman image exists "$name" || exit 0
echo "making $name from Debian's packages"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The machine's mirror and proxy, if it has them for this release.
keys=/usr/share/keyrings/debian-archive-keyring.gpg
apt-get indextargets --format "deb [signed-by=$keys] "'$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
  'Origin: Debian' 2> /dev/null | grep -E ' bookworm(-updates|-security)? ' > "$folder/sources" || true
apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' > "$folder/acquire" || true
[ -s "$folder/sources" ] && sources=("$folder/sources") || sources=()

# As in the official image, keep only licences of the documentation, and the empty folders of manual pages: Debian's Java
# needs them to install.
mmdebstrap --variant=minbase --include=usr-is-merged --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
  --aptopt="$folder/acquire" --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
  --customize-hook='for n in 1 2 3 4 5 6 7 8; do mkdir -p "$1/usr/share/man/man$n"; done' \
  bookworm "$folder/base.tar" "${sources[@]}" &> "$folder/log" || { cat "$folder/log" >&2; exit 1; }
./engine.sh podman import --quiet "$folder/base.tar" "$name" > /dev/null
