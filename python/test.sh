#!/usr/bin/env bash
# Builds the wheel as the tests build the program, installs it into a fresh environment, and tries it there: its tests,
# and whether the stubs say what there is. PROFILE=release builds it as it is released.
set -eu -o pipefail
cd "$(dirname "$0")/.."

folder=target/python
rm -rf "$folder/wheels" "$folder/fresh"
[ -x "$folder/tools/bin/maturin" ] || {
  python3 -m venv "$folder/tools"
  "$folder/tools/bin/pip" install --quiet --disable-pip-version-check 'maturin==1.16.0'
}
"$folder/tools/bin/maturin" build --quiet --locked --compatibility linux --profile "${PROFILE:-dev}" \
  --manifest-path python/Cargo.toml --target-dir target --out "$folder/wheels"

python3 -m venv "$folder/fresh"
"$folder/fresh/bin/pip" install --quiet --disable-pip-version-check "$folder"/wheels/*.whl 'pyarrow==26.0.1' 'mypy==2.4.1'
# From elsewhere, so that the package is the installed one.
tests=$(pwd)/python/tests
cd "$folder/fresh"
bin/python -m unittest discover --start-directory "$tests"
bin/python -m mypy.stubtest --ignore-disjoint-bases leitong
