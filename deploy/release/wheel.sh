#!/usr/bin/env bash
# Builds the released wheel: with its own OpenSSL, for Python 3.10 and later on any Linux with glibc 2.17 or later
# (manylinux2014). Prints the wheel's path.
#
#     deploy/release/wheel.sh target/dist                              # for this machine's processor
#     deploy/release/wheel.sh target/dist aarch64-unknown-linux-gnu    # for ARM64, called by deploy/release/arm64.sh
#
# Needs the tools that `make release-prerequisites` installs. PROFILE names another Cargo profile than `release`.
set -eu -o pipefail

mkdir -p "$1"
output=$(realpath "$1")
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
target=${2:-$host}
options=(--locked --profile "${PROFILE:-release}" --features vendored-openssl --compatibility manylinux2014 --auditwheel check)
[ "$target" = "$host" ] || options+=(--target "$target" --interpreter python3.10)

# With the same librdkafka as the static program.
export PATH="$PWD/deploy/release/librdkafka:$PATH"
# maturin and zig:
export PATH="$PWD/target/tools/release/bin:$PATH"
# Only the linker needs to know about the old glibc. Everything before is shared with the static program.
export LEITONG_LINK_FOR=${target%%-*}-linux-gnu.2.17
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
maturin build "${options[@]}" --manifest-path python/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" \
  --out "$stage" -- -C linker="$PWD/deploy/release/link-old-glibc.sh" >&2
mv "$stage"/*.whl "$output"
ls -t "$output"/*"${target%%-*}".whl | head -n 1
