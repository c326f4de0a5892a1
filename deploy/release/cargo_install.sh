#!/usr/bin/env bash
# Runs `cargo install --locked leitong` on a new Debian without network, from a folder that stands for crates.io: the packed
# crates, and the crates that Cargo.lock names. Prints the path of the installed program.
#
#     deploy/release/cargo_install.sh target/package
#
# The new Debian has a Rust toolchain and what docs/start.md says that a build needs. Without optimisation. Needs root, and
# `make image-prerequisites`.
set -eu -o pipefail

crates=$(realpath "$1")
cd "$(dirname "$0")/../.."
deploy/image/base.sh >&2
trial=$(realpath -m "${CARGO_TARGET_DIR:-target}")/cargo-install
rm -rf "$trial"
mkdir -p "$trial/cargo" "$trial/root"

cargo vendor --quiet --locked --versioned-dirs "$trial/crates-io" > /dev/null
for crate in "$crates"/leitong*.crate; do
  tar --extract --gzip --touch --file "$crate" --directory "$trial/crates-io"
  name=$(basename "$crate" .crate)
  printf '{"files":{},"package":"%s"}' "$(sha256sum "$crate" | cut -d ' ' -f 1)" > "$trial/crates-io/$name/.cargo-checksum.json"
done
cat > "$trial/cargo/config.toml" <<'CONFIG'
[source.crates-io]
replace-with = "folder"
[source.folder]
directory = "/crates-io"
CONFIG

packages=$(sed -n 's/.*OpenSSL headers (Debian: `\([^`]*\)`).*/\1/p' docs/start.md)
[ -n "$packages" ] || { echo "docs/start.md does not name Debian's packages for a build" >&2; exit 1; }
printf 'FROM debian:bookworm-slim\nRUN apt-get update -qq && apt-get install -y -qq --no-install-recommends %s\n' "$packages" \
  > "$trial/Dockerfile"
deploy/image/engine.sh buildah build --quiet --layers --network host --file "$trial/Dockerfile" \
  --tag localhost/leitong-build "$trial/root" > "$trial/log" 2>&1 || { cat "$trial/log" >&2; exit 1; }
deploy/image/engine.sh podman run --rm --pull never --network none \
  --env PATH=/rust/bin:/usr/bin:/bin --env CARGO_HOME=/cargo --env CARGO_TARGET_DIR=/tmp/target \
  --env CARGO_PROFILE_DEV_OPT_LEVEL=0 --env CARGO_PROFILE_DEV_DEBUG=false --env CARGO_PROFILE_DEV_LTO=off \
  --volume "$(rustc --print sysroot):/rust:ro" --volume "$trial/crates-io:/crates-io:ro" \
  --volume "$trial/cargo:/cargo" --volume "$trial/root:/installed" \
  localhost/leitong-build cargo install --quiet --locked --debug --root /installed leitong >&2
echo "$trial/root/bin/leitong"
