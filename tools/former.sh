#!/usr/bin/env bash
# Builds the older programs from which upgrades are tested (tests/kafka/upgrade): the commits in former-versions.txt.
#
#   tools/former.sh build COMMIT   builds the program of a commit or tag, if it does not exist yet; prints its path
#   tools/former.sh build-all      all of them
#   tools/former.sh skip           prints nothing if the history has all of them; otherwise the arguments that skip the tests, and a message
#
# The source comes from the history of this checkout. It is built like today's program for the tests, with today's versions
# of the dependencies and in one target folder, so only one crate has to be compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
# Cargo sets variables about a test's package for programs that the test starts. Some build scripts would rebuild much if they changed.
unset "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}" OUT_DIR
versions=tests/kafka/upgrade/former-versions.txt
target=${CARGO_TARGET_DIR:-$PWD/target}

commits() {
  sed 's/#.*//' "$versions" | awk 'NF { print $1 }'
}

# Gives all packages of an older source a different version, since Cargo distinguishes packages of one target folder by name
# and version; and the program a different name, since it is stored next to today's. Its dependencies are those in its own
# Cargo.lock; unchanged ones are built already.
overlay() {
  local source=$1 version=$2 file
  for file in Cargo.toml python/Cargo.toml; do
    awk -v version="$version" '
      /^\[/ { package = /^\[(workspace\.)?package\]/; program = /^\[\[bin\]\]/ }
      package && /^version = / { print "version = \"" version "\""; next }
      program && /^name = / { print "name = \"leitong-former\""; next }
      /^leitong[a-z-]* = \{ version = / { sub(/version = "[^"]*"/, "version = \"" version "\"") }
      { print }' "$source/$file" > "$source/$file.new"
    mv "$source/$file.new" "$source/$file"
  done
  awk -v version="$version" '
    /^name = / { ours = /"leitong/ && !/"leitong-fuzz"/ }
    ours && /^version = / { print "version = \"" version "\""; next }
    { print }' "$source/Cargo.lock" > "$source/Cargo.lock.new"
  mv "$source/Cargo.lock.new" "$source/Cargo.lock"
}

build() {
  local commit folder
  commit=$(git rev-parse --verify --quiet "$1^{commit}") || {
    echo "the history of this checkout has no $1, so its program cannot be built: git fetch --unshallow --tags" >&2
    exit 1
  }
  folder=$target/former/$commit
  mkdir -p "$target/former"
  # One at a time, since all are built under the same name.
  exec 9> "$target/former/lock"
  flock 9
  if [ ! -x "$folder/leitong" ]; then
    rm -rf "$folder"
    mkdir -p "$folder/source"
    git archive "$commit" | tar -x -C "$folder/source"
    overlay "$folder/source" "0.0.0-former.c${commit:0:12}"
    (
      cd "$folder/source"
      # An example uses the same features of dependencies as tests. The fastest build is fast enough.
      CARGO_TARGET_DIR=$target CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 \
        cargo build --locked --bin leitong-former --example embed --config profile.dev.package.leitong.opt-level=0
    ) >&2
    cp "$target/debug/leitong-former" "$folder/leitong.new"
    mv "$folder/leitong.new" "$folder/leitong"
  fi
  exec 9>&-
  echo "$folder/leitong"
}

case "${1:-}" in
  build) build "${2:?a commit or tag}" ;;
  build-all) for commit in $(commits); do build "$commit" > /dev/null; done ;;
  skip)
    for commit in $(commits); do
      if ! git cat-file -e "$commit^{commit}" 2> /dev/null; then
        echo "SKIPPED: the tests of upgrades, since the history of this checkout lacks $commit (git fetch --unshallow --tags)" >&2
        echo "--skip upgrade::"
        break
      fi
    done ;;
  *) sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
