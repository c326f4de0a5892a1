#!/usr/bin/env bash
# One day of a corpus: what a crawler stored today becomes Markdown for training.
#
#   day.sh CORPUS DAY CRAWL...        CRAWL: WARC files, folders of them, or s3://bucket/prefix/
#
# What it writes is in CORPUS/DAY, and the texts of all days so far are in the table CORPUS/known.
# In one run of `leitong dedup`, main texts become Markdown, and duplicates of today and of all earlier days go. A
# document goes only if its text is in one that stays (--verify), or if it contains a passage of a benchmark
# (--against). Add --source-removed-max 0.9 to stop, before anything is written, if one source would lose more.
#
# Repeat the command after a kill: it continues. Repeat it after its end: it says that it is done.
set -euo pipefail

[ $# -ge 3 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(dirname "$0")
leitong=${LEITONG:-leitong}
benchmark=${BENCHMARK:-$here/benchmark.jsonl}
corpus=$1
out=$1/$2
shift 2

mkdir -p "$out"
"$leitong" dedup \
  --table "$corpus/known" --checkpoint "$out/checkpoint" \
  --as markdown --keep "$out/texts.jsonl.gz" --annotate --drop-undecidable \
  --drop "$out/dropped.warc.gz" \
  --verify \
  --against "$benchmark" \
  --passages "$out/passages.jsonl" \
  --by host --accounts "$out/sites.csv" \
  --report "$out/report.html" \
  --output "$out/verdicts.jsonl" \
  "$@"
