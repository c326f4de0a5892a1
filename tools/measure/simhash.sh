#!/usr/bin/env bash
# Measures plain SimHash on the labelled sets of docs/quality.md, and its CPU time next to the default, and writes
# tools/measure/results/simhash.tsv, from which tools/measure/readme_chart.py draws. `make readme-figures` runs both.
#
# usage: tools/measure/simhash.sh tools/measure/results/simhash.tsv
#
# Plain SimHash is the program's own, with nothing that confirms a match: 64 bits, a well-mixed hash (XXH3), and terms weighted
# by their frequency, within distance 3 (the usual setting), or by its logarithm within distance 9 (the best of those in
# tools/measure/results/quality.md).
set -euo pipefail
page=$1
data=${LEITONG_DATA:-../shared/data}
leitong=${LEITONG:-target/release/leitong}
[ -d "$data" ] || { echo "$data is not there: set LEITONG_DATA to the folder of labelled pages" >&2; exit 1; }
[ -x "$leitong" ] || { echo "$leitong is not there: run \`make build\`" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The settings below are not for runs of users.
export LEITONG_EVERY_SETTING=1

settings() { # WEIGHT DISTANCE
  printf '[simhash]\nweight = "%s"\n[simhash.near]\nmax_distance = %s\ncandidates = "blocks"\nconfirm = "none"\n' "$1" "$2"
}
settings tf 3 > "$work/three.toml"
settings ln-tf 9 > "$work/nine.toml"

# One row: the name, the set, and F1 of the verdicts on it.
score() { # NAME CONFIG SET FILE
  "$leitong" dedup --config "$2" --overwrite --output "$work/verdicts.jsonl" "$4" 2> /dev/null
  python3 tools/measure/quality_sets.py score "$4" "$work/verdicts.jsonl" | awk -F ' *[|] *' -v row="$1	$3" '{ print row "\t" $5 }'
}

# CPU seconds of a run that keeps documents.
seconds() { # CONFIG
  local TIMEFORMAT='%U %S'
  { time "$leitong" dedup ${1:+--config "$1"} --overwrite --keep "$work/kept.jsonl" "$work/documents.jsonl" 2> /dev/null; } 2>&1 |
    awk '{ print $1 + $2 }'
}

{
  echo "# F1 of plain SimHash on the labelled sets, and CPU seconds for 10,000 documents next to the default (medians of 7 rounds),"
  echo "# $(date +'%B %Y'), by tools/measure/simhash.sh."
  echo "method	set	figure"
  for method in three nine; do
    for file in "$data"/{real*,neardup_*,shells_*}.jsonl.gz; do
      name=$(basename "$file" .gz)
      score "simhash-$method" "$work/$method.toml" "${name%.jsonl}" "$file"
    done
  done
  zcat "$data/neardup_zh_lctt.jsonl.gz" "$data/neardup_zh_xitu.jsonl.gz" | sed -n 1,10000p > "$work/documents.jsonl"
  for _ in 1 2 3 4 5 6 7; do
    echo "default	$(seconds '')"
    echo "simhash-three	$(seconds "$work/three.toml")"
  done | sort -k1,1 -k2,2n | awk '{ n[$1]++; at[$1, n[$1]] = $2 } END { for (name in n) printf "%s\tcpu_seconds\t%.2f\n", name, at[name, (n[name] + 1) / 2] }' | sort
} > "$work/figures.tsv"
mv "$work/figures.tsv" "$page"
echo "written into $page"
