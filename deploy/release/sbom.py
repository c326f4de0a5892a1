#!/usr/bin/env python3
"""Writes the list of all components of a release, with versions and licences: a CycloneDX SBOM.

    deploy/release/sbom.py target/dist/leitong-X.Y.Z-….whl target/dist

The list is the one that maturin puts into each wheel. A wheel contains the crates of the program, and those for Python.
"""

import sys
import zipfile
from pathlib import Path


def main() -> None:
    wheel, output = map(Path, sys.argv[1:])
    version = wheel.name.split("-")[1]
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith(".cyclonedx.json")]
        (output / f"leitong-{version}.cyclonedx.json").write_bytes(files.read(name))


if __name__ == "__main__":
    main()
