#!/usr/bin/env bash
# Installs the wheel into a fresh environment, and tries it there: its tests, and whether the stubs say what there is.
# PROFILE=release builds it as it is released.
set -eu -o pipefail
cd "$(dirname "$0")/.."

folder=target/python
rm -rf "$folder/fresh"
tools/test-tools.sh python maturin wheels
wheel=$(python/wheel.sh)

python3 -m venv "$folder/fresh"
"$folder/fresh/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$folder/packages" \
  "$wheel" --requirement python/tests/requirements.txt
# From elsewhere, so that the package is the installed one.
tests=$(pwd)/python/tests
cd "$folder/fresh"
bin/python -m unittest discover --start-directory "$tests"
bin/python -m mypy.stubtest --ignore-disjoint-bases leitong
