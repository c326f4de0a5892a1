#!/usr/bin/env bash
# steps.sh PROGRAM IMAGE: builds all stages of deploy/Dockerfile with a container engine, except the compilation, which
# would take half an hour of CPU time. Instead of the image rust:… it uses Debian's with a fake `cargo`: that fetches and
# checks what the real one would compile, and then copies PROGRAM. In tests/shipped the compiler checks the sources.
set -euo pipefail
program=$(realpath "$1") image=$2
cd "$(dirname "$0")"
folder=$(mktemp -d) rust=
trap './engine.sh podman rmi --force "$rust" &> /dev/null || true; rm -rf "$folder"' EXIT
./base.sh
rust=docker.io/library/$(sed -n 's/^FROM \(rust:.*\) AS build$/\1/p' ../Dockerfile)

cat > "$folder/cargo" <<'CARGO'
#!/bin/sh
set -eu
export PATH="/rust/bin:$PATH" CARGO_HTTP_CAINFO=/certificates
case "$*" in
  "fetch --locked") exec /rust/bin/cargo fetch --locked --target "$(rustc --print host-tuple)" ;;
  "build --release --locked --offline --bin leitong")
    /rust/bin/cargo metadata --locked --offline --format-version 1 --filter-platform "$(rustc --print host-tuple)" > /dev/null
    install -D /program target/release/leitong ;;
  *) echo "deploy/image/steps.sh does not know: cargo $*" >&2; exit 1 ;;
esac
CARGO
chmod +x "$folder/cargo"
printf 'FROM debian:bookworm-slim\nENV CARGO_HOME=/cargo\nCOPY cargo /usr/local/bin/\n' > "$folder/Dockerfile"
build() { ./engine.sh buildah build --quiet --network host "$@" > "$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }; }
build --tag "$rust" "$folder"
# Reuse the packages that this machine has fetched.
cargo=${CARGO_HOME:-$HOME/.cargo}
build --layers=false --file ../Dockerfile --tag "$image" --volume "$(rustc --print sysroot):/rust:ro" \
  --volume "$program:/program:ro" --volume "$cargo:/cargo" \
  --volume "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}:/certificates:ro" ../..
