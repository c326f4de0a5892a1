#!/usr/bin/env bash
# Installs packages for comparison into a separate environment next to the build, and prints the path of its Python.
#
#     tools/measure/python.sh datasketch==2.0.0 ...
set -euo pipefail
cd "$(dirname "$0")/../.."
environment=target/tools/measure
[ -x "$environment/bin/python" ] || python3 -m venv "$environment" >&2
"$environment/bin/python" -m pip install --quiet "$@" >&2
echo "$environment/bin/python"
