#!/usr/bin/env bash
# Installs the wheel into a fresh environment and tests it there: runs its tests, and compares the stubs with
# the package.
# PROFILE=release builds it as for a release.
set -eu -o pipefail
cd "$(dirname "$0")/.."

folder=target/python
rm -rf "$folder/fresh"
tools/test-tools.sh python maturin wheels
wheel=$(python/wheel.sh)

python3 -m venv "$folder/fresh"
"$folder/fresh/bin/pip" install --quiet --disable-pip-version-check --no-index --find-links "$folder/packages" \
  "$wheel" --requirement python/tests/requirements.txt
# From another folder, so the installed package is imported.
tests=$(pwd)/python/tests
cd "$folder/fresh"
bin/python -m unittest discover --start-directory "$tests"
# Spark is not installed here, and the modules that need it have no stubs; neither have the steps for datatrove, whose
# types mypy does not see.
printf '[mypy]\nignore_missing_imports = True\n' > mypy.ini
printf '%s\n' 'leitong\.spark\._(rounds|steps\..*)' 'leitong\.datatrove\.(Cluster|Deduplicate|Fingerprints)' > private
bin/python -m mypy.stubtest --ignore-disjoint-bases --mypy-config-file mypy.ini --allowlist private leitong
