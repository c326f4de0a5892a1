#!/usr/bin/env bash
# Builds the program as one file that needs only a Linux kernel, with glibc and OpenSSL included. Packs it into an
# archive, and prints the archive's path.
#
#     deploy/static/package.sh target/dist                              # for this machine's processor
#     deploy/static/package.sh target/dist aarch64-unknown-linux-gnu    # for ARM64, called by deploy/release/arm64.sh
#
# Needs the prerequisites of a build (`make prerequisites`), glibc's static library (in libc6-dev) and perl. PROFILE names
# another Cargo profile than `release`.
set -eu -o pipefail

mkdir -p "$1"
output=$(realpath "$1")
cd "$(dirname "$0")/../.."
profile=${PROFILE:-release}
host=$(rustc -vV | sed -n 's/^host: //p')
target=${2:-$host}
case $target in
  *-linux-gnu) ;;
  *) echo "$target: a static program is built on Linux with glibc, by the toolchain …-unknown-linux-gnu" >&2; exit 1 ;;
esac
folder=${CARGO_TARGET_DIR:-target}
options=(--locked --profile "$profile" --bin leitong --features vendored-openssl)
if [ "$target" != "$host" ]; then
  options+=(--target "$target")
  folder=$folder/$target
fi
if [ "$profile" = dev ]; then folder=$folder/debug; else folder=$folder/$profile; fi

# Only the linker needs to know that the program is static. Everything before is shared with the wheel, which must not use
# functions that old versions of glibc lack. Addresses that are set at the start take 2.5 MB unless they are packed; Rust's
# own linker can pack them for both processors, Debian's for ARM64 cannot.
linker=$(rustc --print sysroot)/lib/rustlib/$host/bin/gcc-ld
export PATH="$PWD/deploy/release/librdkafka:$PATH"
cargo rustc "${options[@]}" -- -C target-feature=+crt-static \
  -C link-arg=-B"$linker" -C link-arg=-fuse-ld=lld -C link-arg=-Wl,-z,pack-relative-relocs >&2

# The archive contains no times or owners, so the same program gives the same archive.
version=$(cargo pkgid --locked | sed 's/.*[#@]//')
name=leitong-$version-${target%%-*}-linux
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/$name/examples"
cp "$folder/leitong" README.md CHANGELOG.md LICENSE "$stage/$name"
cp examples/pages.jsonl "$stage/$name/examples"
moment=$(git log -1 --format=%ct 2> /dev/null || echo 0)
tar --directory "$stage" --create --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$moment" "$name" \
  | gzip -9n > "$output/$name.tar.gz"
echo "$output/$name.tar.gz"
