#!/usr/bin/env bash
# Prints the scores of Leitong, of MinHash with two minimum similarities, and of the paper's SimHash on labelled pages, in
# one table. `make side-by-side PAGES=FILE` runs it.
#
#     tools/measure/side_by_side.sh PAGES.jsonl[.gz]
#
# Pages are JSON lines with the fields `id`, `text` or `html`, `cluster` and `label` (new, dup, ambiguous), in the order of
# time. `leitong-lab eval --verdicts` adds any other tool to the table: docs/coming-from.md says how.
set -euo pipefail
[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
pages=$1
leitong=${LEITONG:-target/release/leitong}
[ -x "$leitong" ] || { echo "$leitong is not there: run \`make build\`" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python=$(tools/measure/python.sh datasketch==2.0.0)

"$leitong" dedup --output "$work/leitong.jsonl" "$pages" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
LEITONG_EVERY_SETTING=1 "$leitong" dedup --config examples/simhash-paper.toml --output "$work/paper.jsonl" "$pages" 2> "$work/log" ||
  { cat "$work/log" >&2; exit 1; }
"$python" tools/measure/minhash.py "$leitong" "$pages" "$work/five.jsonl" "$work/eight.jsonl"
"$leitong-lab" eval --verdicts "Leitong=$work/leitong.jsonl" --verdicts "MinHash, J ≥ .5=$work/five.jsonl" \
  --verdicts "MinHash, J ≥ .8=$work/eight.jsonl" --verdicts "SimHash of the paper=$work/paper.jsonl" "$pages"
