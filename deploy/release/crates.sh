#!/usr/bin/env bash
# Packs the crates of the program as they are published, into a folder.
#
#     deploy/release/crates.sh target/package
set -eu -o pipefail

mkdir -p "$1"
output=$(realpath "$1")
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Cargo would build each crate by itself, and most dependencies twice: from_crates.sh builds all of them together.
cargo package --quiet --locked --no-verify --workspace --exclude leitong-fuzz --exclude leitong-lab \
  --exclude leitong-python --target-dir "$folder"
rm -f "$output"/leitong*.crate
mv "$folder"/package/*.crate "$output"
