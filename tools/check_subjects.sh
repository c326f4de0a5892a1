#!/usr/bin/env bash
# Checks that the subjects of new commits have at most 72 characters, as CONTRIBUTING.md asks. Merge commits are not
# checked, since git writes their subjects.
#
#   tools/check_subjects.sh [BASE]           commits of HEAD that are not in BASE; by default all newer than the rule
#   tools/check_subjects.sh --message FILE   the message of a new commit (tools/hooks/commit-msg)
set -euo pipefail

# The last commit before the rule was enforced. Older subjects stay as they are.
rule=2770b25e2c30faac397a158a35f913be431a005e

# Reads lines of a name and a subject; prints their number and the subjects that are too long. UTF-8 continuation bytes are
# not counted, so the locale does not matter.
too_long() {
  LC_ALL=C awk '{
    subject = substr($0, index($0, " ") + 1); text = subject; gsub(/[\200-\277]/, "", text)
    if (length(text) > 72) printf "  %s has %d characters: %s\n", $1, length(text), subject
  } END { print NR }'
}

# The first paragraph, which git calls the subject.
check_message() {
  local found
  # Git writes the message of a merge, and a fixup disappears in the next rebase.
  if [ -e "$(git rev-parse --git-path MERGE_HEAD)" ]; then return; fi
  found=$(git stripspace --strip-comments < "$1" |
    awk 'NF && !past { printf "%s%s", between, $0; between = " "; next } { past = 1 }' |
    awk '!/^(fixup|squash|amend)! / { print "it " $0 }' | too_long | sed '$d')
  [ -z "$found" ] || {
    echo "The subject of this commit is too long; at most 72 characters are allowed:" >&2
    echo "$found" >&2
    echo "Shorten it with:  git commit --edit --file=$1" >&2
    exit 1
  }
}

check_commits() {
  local base=$1 range=HEAD commits found
  git rev-parse --git-dir > /dev/null || {
    echo "SKIPPED: the subjects of commits, since git finds no history here"
    return
  }
  if [ "$base" != "$rule" ] && ! git cat-file -e "$base^{commit}" 2> /dev/null; then
    echo "This clone has no $base: all commits newer than the rule are checked instead."
    base=$rule
  fi
  if git cat-file -e "$base^{commit}" 2> /dev/null; then
    range=$base..HEAD
  elif [ "$(git rev-parse --is-shallow-repository)" = true ]; then
    echo "SKIPPED: the subjects of commits that this shallow clone does not have (git fetch --unshallow)"
  else
    echo "SKIPPED: commit subjects are checked from $base on, and this history does not have that commit"
    return
  fi
  commits=$(git -c i18n.logOutputEncoding=UTF-8 log --no-merges --format='%h %s' "$range" --)
  found=$(printf '%s' "${commits:+$commits$'\n'}" | too_long)
  if [ "$found" != "${found##*$'\n'}" ]; then
    echo "The subjects of new commits are too long; at most 72 characters are allowed:" >&2
    echo "${found%$'\n'*}" >&2
    echo "Shorten them with  git commit --amend  or  git rebase --interactive" >&2
    exit 1
  fi
  echo "$found new commits: no subject has more than 72 characters"
}

case "${1:-}" in
  --message) check_message "${2:?the file with the message}" ;;
  -*) sed -n '2,/^set/ s/^# \{0,1\}//p' "$0"; exit 2 ;;
  *) check_commits "${1:-$rule}" ;;
esac
