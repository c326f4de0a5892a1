#!/usr/bin/env bash
# Builds the program as one file that needs nothing of the machine but Linux: glibc and OpenSSL are inside. Makes an
# archive of it, and prints the archive's path.
#
#     deploy/static/package.sh target/dist
#
# Line numbers for backtraces are a file beside the program, which finds it there; it runs without. Needs what a build
# needs (`make prerequisites`), glibc's static library (libc6-dev has it), perl and binutils.
set -eu -o pipefail

mkdir -p "$1"
output=$(realpath "$1")
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
  *-linux-gnu) ;;
  *) echo "$host: a static program is built on Linux with glibc, by the toolchain …-unknown-linux-gnu" >&2; exit 1 ;;
esac

# Only what links the program has to know that it is static, so all else is that of `make build`. The result stands in
# the place of the latter's, until that is built again.
cargo rustc --release --locked --bin leitong --features vendored-openssl -- -C target-feature=+crt-static >&2
built=${CARGO_TARGET_DIR:-target}/release/leitong

version=$("$built" --version | cut -d ' ' -f 2)
name=leitong-$version-${host%%-*}-linux
folder=$output/$name
rm -rf "$folder"
mkdir -p "$folder"
cp README.md CHANGELOG.md LICENSE "$folder"
objcopy --only-keep-debug "$built" "$folder/leitong.debug"
objcopy --strip-debug "$built" "$folder/leitong"
(cd "$folder" && objcopy --add-gnu-debuglink=leitong.debug leitong && chmod 644 leitong.debug)

# The same bytes for the same program: no times, no owners.
moment=$(git log -1 --format=%ct 2> /dev/null || echo 0)
tar --directory "$output" --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$moment" "$name" \
  | gzip -9n > "$output/$name.tar.gz"
(cd "$output" && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
echo "$output/$name.tar.gz"
