#!/usr/bin/env bash
# Builds the program from the crates in a folder, as Cargo would from a registry that has them, and prints its path.
#
#     deploy/release/from_crates.sh target/package
#
# The crates are unpacked outside of this checkout. Built without optimisation, and with the system's OpenSSL.
set -eu -o pipefail

crates=$(realpath "$1")
cd "$(dirname "$0")/../.."
trial=$(realpath -m "${CARGO_TARGET_DIR:-target}")/trial
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for crate in "$crates"/leitong*.crate; do
  tar --extract --gzip --touch --file "$crate" --directory "$work"
done
cd "$work"
cp leitong-[0-9]*/Cargo.lock .
{
  echo '[workspace]'
  echo 'members = ["leitong*"]'
  echo 'resolver = "3"'
  echo '[patch.crates-io]'
  for folder in leitong-[a-z]*; do
    echo "${folder%-[0-9]*} = { path = \"$folder\" }"
  done
} > Cargo.toml
CARGO_TARGET_DIR=$trial CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_LTO=off \
  CARGO_INCREMENTAL=0 cargo build --quiet --package leitong --bin leitong >&2
echo "$trial/debug/leitong"
