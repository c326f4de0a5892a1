#!/usr/bin/env bash
# Builds the wheel as the tests build the program, and prints its path. PROFILE=release builds it as for a
# release;
# LEITONG_WHEEL names one that is already built.
set -eu -o pipefail
[ -z "${LEITONG_WHEEL:-}" ] || { echo "$LEITONG_WHEEL"; exit; }
cd "$(dirname "$0")/.."
# Cargo sets variables about a test's package for programs that the test starts. Some build scripts would
# rebuild much if they changed.
unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}" OUT_DIR

folder=target/python
mkdir -p "$folder"
# Parallel tests need one wheel.
exec 9> "$folder/lock"
flock 9
[ -x "$folder/tools/bin/maturin" ] || tools/test-tools.sh maturin >&2
profile=${PROFILE:-dev}
features=()
[ "$profile" != dev ] || features=(--features tests)
"$folder/tools/bin/maturin" build --quiet --locked --compatibility linux --profile "$profile" "${features[@]}" \
  --manifest-path python/Cargo.toml --target-dir target --out "$folder/wheels" >&2
ls -t "$PWD/$folder"/wheels/*.whl | head -n 1
