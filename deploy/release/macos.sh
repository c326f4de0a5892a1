#!/usr/bin/env bash
# Builds the program and the wheel for the Mac that this runs on, with OpenSSL included, into a folder. Called by the
# workflow `release`.
#
#     deploy/release/macos.sh dist
set -eu -o pipefail

[ "$(uname -s)" = Darwin ] || { echo "files for macOS are built on macOS, not on $(uname -s)" >&2; exit 1; }
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
# The oldest system that the files run on.
export MACOSX_DEPLOYMENT_TARGET=13.0
cargo build --locked --release --bin leitong --features vendored-openssl
python3 -m venv target/tools/release
target/tools/release/bin/pip install --quiet --disable-pip-version-check maturin==1.16.0
target/tools/release/bin/maturin build --locked --release --features vendored-openssl --manifest-path python/Cargo.toml \
  --out "$output"

version=$(cargo pkgid --locked | sed 's/.*[#@]//')
name=leitong-$version-$(uname -m | sed 's/arm64/aarch64/')-macos
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/$name/examples"
cp target/release/leitong README.md CHANGELOG.md LICENSE "$stage/$name"
cp examples/pages.jsonl "$stage/$name/examples"
tar -czf "$output/$name.tar.gz" -C "$stage" "$name"
