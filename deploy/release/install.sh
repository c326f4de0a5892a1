#!/bin/sh
# Installs the program of a release for this machine: downloads its archive, compares it with the release's list of sums,
# and unpacks it. Nothing is installed if a file is missing, incomplete or changed.
#
#     sh install.sh URL             # the address of the folder that holds the files of the release
#     sh install.sh URL /usr/local  # with another folder than ~/.local, for bin/leitong and share/leitong
#
# Needs curl or wget, tar, gzip, and sha256sum or shasum.
set -eu

fail() { echo "install.sh: $*" >&2; exit 1; }
have() { command -v "$1" > /dev/null 2>&1; }

fetch() {
  if have curl; then
    curl --fail --silent --show-error --location --retry 3 --connect-timeout 30 --speed-limit 1000 --speed-time 60 \
      --output "$2" "$1"
  else
    wget -q -T 60 -O "$2" "$1"
  fi
}

sum() { if have sha256sum; then sha256sum "$1"; else shasum -a 256 "$1"; fi; }

download() {
  fetch "$url/$1" "$work/$1" ||
    fail "$url/$1 could not be downloaded: check address and connection, and try again. Nothing was installed"
}

# A function, so that nothing runs if only a part of this script arrived in a pipe.
main() {
  [ $# = 1 ] || [ $# = 2 ] || fail "name the address of the release's files: sh install.sh URL [FOLDER]"
  url=${1%/}
  prefix=${2:-${HOME:?install.sh: HOME is not set: name a folder as well}/.local}

  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) fail "there is no program for $(uname -s): use WSL on Windows, and build it from source elsewhere" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64-$system ;;
    aarch64 | arm64) machine=aarch64-$system ;;
    *) fail "there is no program for $(uname -m): build it from source" ;;
  esac
  for tool in tar gzip; do
    have "$tool" || fail "$tool is missing: install it"
  done
  have curl || have wget || fail "curl and wget are missing: install one of them"
  have sha256sum || have shasum || fail "sha256sum and shasum are missing: install one of them"

  new=
  work=$(mktemp -d)
  trap 'rm -rf "$work" ${new:+"$new"}' EXIT
  trap 'exit 1' HUP INT TERM

  # A line of the list: 64 hexadecimal digits, two spaces, a name such as leitong-0.2.0-x86_64-linux.tar.gz.
  download SHA256SUMS
  listed=$(grep -E "^[0-9a-f]{64} [ *]leitong-[0-9A-Za-z.+-]+-$machine\.tar\.gz\$" "$work/SHA256SUMS" || true)
  case $(printf '%s\n' "$listed" | grep -c .) in
    0) fail "$url/SHA256SUMS names no archive for $machine: check the address, or build the program from source" ;;
    1) ;;
    *) fail "$url/SHA256SUMS names several archives for $machine: give the address of one release" ;;
  esac
  wanted=${listed%% *}
  archive=${listed#* ?}
  download "$archive"
  found=$(sum "$work/$archive")
  found=${found%% *}
  [ "$found" = "$wanted" ] ||
    fail "$url/$archive is incomplete or was changed: its SHA-256 sum is $found, but SHA256SUMS says $wanted." \
      "Nothing was installed; try again, and report it if this happens twice"

  tar -xzf "$work/$archive" -C "$work" ||
    fail "$archive could not be unpacked: is there room in ${TMPDIR:-/tmp}? Nothing was installed"
  unpacked=$work/${archive%.tar.gz}
  version=$("$unpacked/leitong" --version) || fail "the program in $archive does not run on this machine. Nothing was installed"

  # The new program gets its name at once, also while the old one runs.
  new=$prefix/bin/.leitong.$$
  { mkdir -p "$prefix/bin" "$prefix/share/leitong" && cp "$unpacked/leitong" "$new" && rm "$unpacked/leitong" &&
    cp -R "$unpacked/." "$prefix/share/leitong" && chmod 755 "$new" && mv "$new" "$prefix/bin/leitong"; } ||
    fail "$prefix cannot be written: name another folder, or run this as a user who may write there"

  echo "$version is installed as $prefix/bin/leitong; README and sample pages are in $prefix/share/leitong"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "To find it by name, run  export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
}

main "$@"
