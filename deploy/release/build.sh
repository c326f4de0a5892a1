#!/usr/bin/env bash
# Builds the files of a release into an empty folder:
#
#     deploy/release/build.sh target/dist
#
# Needs x86-64 with the oldest supported Debian, bookworm: the Debian package and the image need the glibc that they were
# built with, or a later one. PROFILE names another Cargo profile than `release`.
set -eu -o pipefail

[ "$(uname -sm)" = "Linux x86_64" ] || { echo "a release is built on Linux on x86-64, not on $(uname -sm)" >&2; exit 1; }
rm -rf "$1"
mkdir -p "$1"
output=$(realpath "$1")
cd "$(dirname "$0")/../.."
export PROFILE=${PROFILE:-release}
built=${CARGO_TARGET_DIR:-target}
case $PROFILE in dev) built=$built/debug ;; *) built=$built/$PROFILE ;; esac
arm64=aarch64-unknown-linux-gnu

step() {
  echo "release: $1 ($((SECONDS / 60)) min)" >&2
  shift
  "$@" >&2
}

image() {
  version=$(cargo pkgid --locked | sed 's/.*[#@]//')
  deploy/image/build.sh "$built/leitong" "localhost/leitong:$version"
  deploy/image/engine.sh podman save --quiet --format docker-archive "localhost/leitong:$version" \
    | gzip -9n > "$output/leitong-$version-x86_64-image.tar.gz"
}

# Builds with OpenSSL included. A program and a wheel for the same processor differ only in linking.
step "static program for x86-64" deploy/static/package.sh "$output"
step "wheel for x86-64" deploy/release/wheel.sh "$output"
step "static program for ARM64" deploy/release/arm64.sh deploy/static/package.sh "$output" $arm64
step "wheel for ARM64" deploy/release/arm64.sh deploy/release/wheel.sh "$output" $arm64

# Builds with the system's OpenSSL; the program is the one of `make build`.
step "program for the Debian package and the image" cargo build --locked --profile "$PROFILE" --bin leitong
step "Debian package" deploy/debian/package.sh "$built/leitong" "$output"
step "image" image

step "crates" deploy/release/crates.sh "$output"
step "source distribution for Python" target/tools/release/bin/maturin sdist --manifest-path python/Cargo.toml --out "$output"
step "list of components" deploy/release/sbom.py "$output"/leitong-*-manylinux*x86_64.whl "$output"
cp deploy/release/install.sh "$output"
(cd "$output" && sha256sum -- install.sh leitong* > SHA256SUMS)
