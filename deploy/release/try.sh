#!/usr/bin/env bash
# Tries the files of a release as users get them: unpacks each into an empty folder, environment or system. Each must give
# the verdicts of the static program on the sample pages.
#
#     deploy/release/try.sh target/dist                  # all of them, as root
#     deploy/release/try.sh target/dist static wheel     # some of them
#
# ARM64 files run with qemu. Sources are built without optimisation.
set -eu -o pipefail

dist=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
tools=$PWD/target/tools/release/bin
pages=$PWD/examples/pages.jsonl
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { echo "$what: $*"; }
fail() { say "$*" >&2; exit 1; }

# Prints the only file that matches a pattern.
file() {
  local found=("$dist"/$1)
  [ "${#found[@]}" = 1 ] && [ -e "${found[0]}" ] || fail "there should be one file $1 in $dist"
  echo "${found[0]}"
}

# Removes the decision time from verdicts, the only part that may differ.
timeless() { sed -E 's/"decided_at":"[^"]*"/"decided_at":""/'; }

unpack() {
  mkdir -p "$work/$what"
  tar --extract --gzip --touch --file "$1" --directory "$work/$what" --strip-components 1
}

# Runs a command with the sample pages as its input, and compares its verdicts with those of the static program.
gives_the_verdicts() {
  if [ ! -e "$work/expected" ]; then
    mkdir "$work/reference"
    tar --extract --gzip --file "$(file 'leitong-*-x86_64-linux.tar.gz')" --directory "$work/reference" --strip-components 1
    "$work/reference/leitong" dedup - < "$pages" 2> "$work/errors" | timeless > "$work/expected" || fail "$(cat "$work/errors")"
    [ "$(wc -l < "$work/expected")" = "$(wc -l < "$pages")" ] || fail "there is not one verdict for each sample page"
  fi
  "$@" < "$pages" 2> "$work/errors" | timeless > "$work/verdicts" || fail "$(cat "$work/errors")"
  cmp "$work/verdicts" "$work/expected" || fail "verdicts differ from those of the static program"
  say "$(wc -l < "$work/verdicts") verdicts as expected"
}

is_small() {
  local size
  size=$(stat --format %s "$1")
  [ "$size" -le 43500000 ] || fail "$1 has $size bytes, more than 43.5 MB"
}

try_sums() {
  (cd "$dist" && sha256sum --check --quiet SHA256SUMS)
  [ "$(wc -l < "$dist/SHA256SUMS")" = "$(find "$dist" -type f ! -name SHA256SUMS | wc -l)" ] || fail "not all files are listed"
  say "$(wc -l < "$dist/SHA256SUMS") files are as listed"
}

try_static() {
  unpack "$(file 'leitong-*-x86_64-linux.tar.gz')"
  is_small "$work/$what/leitong"
  gives_the_verdicts "$work/$what/leitong" dedup -
  deploy/static/try.py "$work/$what/leitong"
}

try_static_arm64() {
  unpack "$(file 'leitong-*-aarch64-linux.tar.gz')"
  is_small "$work/$what/leitong"
  # Without libraries for ARM64: -L names a folder that does not exist.
  gives_the_verdicts qemu-aarch64 -L /nonexistent "$work/$what/leitong" dedup -
}

try_wheel() {
  local wheel
  wheel=$(file 'leitong-*x86_64.whl')
  "$tools/auditwheel" show "$wheel" | tr '\n' ' ' | grep -F manylinux_2_17_x86_64 > /dev/null || fail "it needs more than manylinux2014"
  LEITONG_WHEEL=$wheel python/test.sh
  gives_the_verdicts target/python/fresh/bin/leitong dedup -
}

try_wheel_arm64() {
  local wheel root
  wheel=$(file 'leitong-*aarch64.whl')
  "$tools/auditwheel" show "$wheel" | tr '\n' ' ' | grep -F manylinux_2_17_aarch64 > /dev/null || fail "it needs more than manylinux2014"
  root=$work/$what/system
  mkdir -p "$work/$what"
  mmdebstrap --quiet --variant=extract --architectures=arm64 --include=python3.11 bookworm "$root"
  "$tools/pip" install --quiet --disable-pip-version-check --no-deps --target "$work/$what/packages" --only-binary :all: \
    --platform manylinux2014_aarch64 --python-version 3.11 "$wheel"
  export PYTHONPATH=$work/$what/packages
  local python=(qemu-aarch64 -L "$root" "$root/usr/bin/python3.11")
  gives_the_verdicts "${python[@]}" -m leitong dedup -
  "${python[@]}" -c 'import leitong; assert leitong.extract("<p>Rain is expected on Monday.</p>").text'
  say "the module is imported"
}

# As PyPI would check them.
try_pypi() {
  "$tools/twine" check --strict "$dist"/leitong-*.whl "$(file 'leitong-*[0-9].tar.gz')"
}

# In a new Debian, with the packages that it depends on.
try_debian() {
  local package system
  package=$(file 'leitong_*_amd64.deb')
  system=$work/$what
  mmdebstrap --quiet --variant=minbase --include="$package" \
    --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount bookworm "$system"
  gives_the_verdicts chroot "$system" leitong dedup -
}

try_crates() {
  local program
  program=$(deploy/release/cargo_install.sh "$dist")
  gives_the_verdicts "$program" dedup -
}

# Without optimisation, and with the system's OpenSSL.
try_source() {
  python3 -m venv "$work/$what"
  CARGO_TARGET_DIR=$target/trial CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=false CARGO_INCREMENTAL=0 \
    "$work/$what/bin/pip" install --quiet --disable-pip-version-check --config-settings build-args="--profile dev" \
    "$(file 'leitong-*[0-9].tar.gz')"
  gives_the_verdicts "$work/$what/bin/leitong" dedup -
}

try_image() {
  local name
  # Podman 4 reads only its own form of compressed archives.
  name=$(gzip -dc "$(file 'leitong-*-image.tar.gz')" | deploy/image/engine.sh podman load --quiet | sed 's/^Loaded image: //')
  gives_the_verdicts deploy/image/engine.sh podman run --rm --interactive --pull never --network none --read-only \
    --read-only-tmpfs=false --cap-drop all "$name" dedup -
}

# From a server on this machine, and not from one that changed the archive.
try_install() {
  local archive changed=$work/$what/changed
  mkdir -p "$changed"
  archive=$(file 'leitong-*-x86_64-linux.tar.gz')
  cp "$dist/SHA256SUMS" "$archive" "$changed"
  echo >> "$changed/${archive##*/}"
  python3 -u -m http.server --bind 127.0.0.1 --directory "$dist" 0 > "$work/$what/log" 2>&1 &
  server=$! # not local, because the trap needs it after the function
  trap 'kill "$server"' EXIT
  until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/$what/log") && [ -n "$port" ]; do
    kill -0 "$server" || fail "$(cat "$work/$what/log")"
    sleep 0.1
  done
  sh "$dist/install.sh" "http://127.0.0.1:$port" "$work/$what/system"
  gives_the_verdicts "$work/$what/system/bin/leitong" dedup -
  ! sh "$dist/install.sh" "file://$changed" "$work/$what/none" 2> "$work/errors" || fail "a changed archive was installed"
  grep -F 'was changed' "$work/errors" > /dev/null || fail "$(cat "$work/errors")"
  [ ! -e "$work/$what/none" ] || fail "a changed archive left files"
  say "a changed archive is refused"
}

# The SBOM must name all parts of the program, including the C libraries.
try_sbom() {
  python3 - "$(file 'leitong-*.cyclonedx.json')" << 'PYTHON'
import json, sys
sbom = json.load(open(sys.argv[1]))
names = {component["name"] for component in sbom["components"]}
missing = {"leitong", "rdkafka-sys", "openssl-src", "zstd-sys", "tokio"} - names
assert sbom["bomFormat"] == "CycloneDX" and not missing, missing
print(f"sbom: {len(names)} components")
PYTHON
}

all=(sums install static static_arm64 wheel wheel_arm64 pypi debian crates source image sbom)
tried=("${@:-${all[@]}}")
for what in "${tried[@]}"; do
  (try_"$what")
done
[ $# = 0 ] || exit 0
echo "$dist has these files, each as SHA256SUMS says:"
while read -r sum name; do
  printf '%12d bytes  %s  %s\n' "$(stat --format %s "$dist/$name")" "$sum" "$name"
done < "$dist/SHA256SUMS"
