#!/usr/bin/env bash
# Builds for ARM64 on another processor, and runs with qemu everything whose results must be the same bytes on both: the
# unit tests of all crates, including the golden fingerprints, and the verdicts on the sample pages.
#
#     tools/arm64.sh            # `make arm64` installs what it needs
#     tools/arm64.sh golden::   # only the unit tests of this name, and the sample pages
#
# The simulation of brokers is left out: it takes minutes, longer with qemu, and does not depend on the processor.
set -eu -o pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
cross=(deploy/release/arm64.sh cargo)
built=${CARGO_TARGET_DIR:-target}

packages=(--workspace --exclude leitong-fuzz --exclude leitong-python)
"${cross[@]}" test --locked --target $target "${packages[@]}" --features leitong/vendored-openssl --lib -- --skip simulation:: "$@"

# The Python package is not built. With its feature `tests`, the dependencies have the features that the tests were built with.
program=(build --locked --package leitong --package leitong-python --features leitong-python/tests --bin leitong)
"${cross[@]}" "${program[@]}" --target $target --features vendored-openssl
cargo "${program[@]}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# Prints the verdicts without the time of the decision.
verdicts() { "$@" dedup examples/pages.jsonl | sed -E 's/"decided_at":"[^"]*"//'; }
verdicts qemu-aarch64 -L /usr/aarch64-linux-gnu "$built/$target/debug/leitong" > "$folder/arm64"
verdicts "$built/debug/leitong" > "$folder/here"
cmp "$folder/arm64" "$folder/here" \
  || { echo "the verdicts on the sample pages differ between ARM64 and this machine" >&2; exit 1; }
echo "the verdicts on the sample pages are the same on ARM64 and on this machine"
