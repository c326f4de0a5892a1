#!/usr/bin/env bash
# Measures quality on the labelled pages of LEITONG_DATA, and writes the tables between the markers of two Markdown
# files: a summary for readers into PAGE, the long tables into DETAILS. `make quality` runs it.
#
# usage: tools/measure/quality.sh docs/quality.md tools/measure/results/quality.md
#
# LEITONG_LANGUAGES may name texts of other languages (JSON lines with `id`, `lang`, `text`) for the set `languages`.
set -euo pipefail
page=$1
details=$2
data=${LEITONG_DATA:-../shared/data}
leitong=${LEITONG:-target/release/leitong}
[ -d "$data" ] || { echo "$data is not there: set LEITONG_DATA to the folder of labelled pages" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# MinHash, and two packages that read source metadata of pages.
# (lxml's cleaner, which trafilatura imports, is a separate package now.)
python=$(tools/measure/python.sh datasketch==2.0.0 trafilatura==2.3.1 gne==0.4.3 lxml_html_clean==0.4.6)

# Verdicts on labelled pages, with their addresses as `quality_sets.py addresses` makes them.
verdicts() { # PAGES ADDRESSES CONFIG...
  local pages=$1 addresses=$2
  shift 2
  python3 tools/measure/quality_sets.py addresses "$addresses" "$pages" > "$work/pages.jsonl"
  "$leitong" dedup --overwrite "$@" --output "$work/$addresses.jsonl" "$work/pages.jsonl" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
}

# One row: the default without addresses, with them, and with each page on a host of its own; and MinHash twice.
row() { # PAGES
  local addresses
  for addresses in none kept own; do verdicts "$1" "$addresses"; done
  "$python" tools/measure/minhash.py "$leitong" "$1" "$work/five.jsonl" "$work/eight.jsonl" 2> "$work/log" || { cat "$work/log" >&2; exit 1; }
  python3 tools/measure/quality_sets.py score --kinds "$work/kinds.txt" "$1" "$work"/{none,kept,own,five,eight}.jsonl
}

# A table with its means.
table() { # PAGES...
  local pages
  {
    echo "| pages | precision | recall | F1 | false duplicates | with addresses | own hosts | MinHash, J ≥ .5 | MinHash, J ≥ .8 |"
    echo "|---|---|---|---|---|---|---|---|---|"
    for pages in "$@"; do row "$pages"; done
  } | python3 tools/measure/quality_sets.py summary
}

cat > "$work/mixed.toml" <<'TOML'
# The paper's setting with a well-mixed hash.
[simhash]
weight = "tf"
[simhash.near]
max_distance = 3
candidates = "blocks"
confirm = "none"
TOML
sed 's/max_distance = 3/max_distance = 7/; s/"tf"/"ln-tf"/' "$work/mixed.toml" > "$work/seven.toml"
sed 's/max_distance = 3/max_distance = 9/; s/"tf"/"ln-tf"/' "$work/mixed.toml" > "$work/nine.toml"

python3 tools/measure/quality_sets.py make "$data" "$work/sets" --part held-out --leitong "$leitong" \
  ${LEITONG_LANGUAGES:+--languages "$LEITONG_LANGUAGES"}
python3 tools/measure/other_copies.py "$data" "$work/other"
# Its pages are not scored as duplicates or others.
mv "$work/sets/relations.jsonl" "$work"

{
  echo "### Sets that no rule was chosen with"
  echo
  table "$data"/{real_newsletters,neardup_zh_xitu,shells_zh_coolshell}.jsonl.gz "$data"/real3_*.jsonl.gz
  echo
  echo "### Sets that the default was chosen with"
  echo
  table "$data"/real_{advisories,blog_shells,i18n_docs,laws_de,poems_zh,recipes_zh,terms,tldr_short}.jsonl.gz \
    "$data"/{neardup_zh_lctt,neardup_zh_fudan,neardup_zh_script_pairs,templates_zh}.jsonl.gz
  echo
  echo "### Copies by another generator"
  echo
  table "$work"/other/*.jsonl
  echo
  echo "### Excerpts and merged pages"
  echo
  echo "Pages that are related to one of the pages they were made from, by relation; pages related to another page; pages called duplicates:"
  echo
  echo "| kind | pages | \`SAME\` | \`EXCERPT\` | \`EXTENDS\` | \`OVERLAPS\` | \`ALIKE\` | another page | duplicates |"
  echo "|---|---|---|---|---|---|---|---|---|"
  "$leitong" dedup --overwrite --output "$work/verdicts.jsonl" "$work/relations.jsonl" 2>/dev/null
  python3 tools/measure/quality_sets.py relations "$work/relations.jsonl" "$work/verdicts.jsonl"
  echo
  echo "### False matches per pair of unrelated texts"
  echo
  cargo bench --quiet --bench false_matches
} | tee "$work/tables.md"

{
  echo "### Generated copies of texts that had no part in any choice"
  echo
  table "$work"/sets/*.jsonl
  echo
  echo "### By kind of page or change, by letters or language of the original, and by how false duplicates differ"
  echo
  echo "Without addresses / with them / with each page on a host of its own:"
  echo
  echo "| set, kind | found | of | false duplicates |"
  echo "|---|---|---|---|"
  cat "$work/kinds.txt"
  echo
  echo "### Pages of one paged article"
  echo
  echo "Pages that come after another page of their article; those called \`PART\` of another page of it, pages called \`PART\` of anything else, and duplicates:"
  echo
  echo "| kind | pages | \`PART\` | wrongly | duplicates |"
  echo "|---|---|---|---|---|"
  python3 tools/measure/paged.py make "$data" "$work/paged.jsonl"
  "$leitong" dedup --overwrite --output "$work/verdicts.jsonl" "$work/paged.jsonl" 2>/dev/null
  python3 tools/measure/paged.py score "$work/paged.jsonl" "$work/verdicts.jsonl"
  echo
  echo "### What pages say about their source"
  echo
  echo "Authors, days of publication and publishers (\`tools/measure/metadata.py\` says how they are counted, [extraction](../../../docs/extraction.md) says what they are):"
  echo
  "$python" tools/measure/metadata.py "$leitong" "$data" --peers 2>/dev/null
  echo
  echo "### The same text in other themes"
  echo
  echo "Two extracted texts of one page that differs in its theme (\`tools/measure/consistency.py\` says how):"
  echo
  python3 tools/measure/consistency.py "$leitong" "$data"
  for variant in \
    "paper:The paper's setting (\`examples/simhash-paper.toml\`)" \
    "mixed:The same with a well-mixed hash (XXH3)" \
    "seven:XXH3, weight 1 + ln tf, distance 7, nothing that confirms" \
    "nine:XXH3, weight 1 + ln tf, distance 9, nothing that confirms"; do
    name=${variant%%:*}
    config=$work/$name.toml
    [ "$name" = paper ] && config=examples/simhash-paper.toml
    echo
    echo "### ${variant#*:}"
    echo
    echo "| pages | precision | recall | F1 | false duplicates |"
    echo "|---|---|---|---|---|"
    for set in neardup_zh_lctt neardup_zh_xitu neardup_zh_fudan; do
      # These configurations are detector files, which no run of a user reads.
      LEITONG_EVERY_SETTING=1 verdicts "$data/$set.jsonl.gz" kept --config "$config"
      python3 tools/measure/quality_sets.py score "$data/$set.jsonl.gz" "$work/kept.jsonl"
    done
  done
} | tee "$work/details.md"

python3 - "$page" "$work/tables.md" "$details" "$work/details.md" <<'PYTHON'
import sys
for path, measured in zip(sys.argv[1::2], sys.argv[2::2]):
    page, tables = (open(file, encoding="utf-8").read() for file in (path, measured))
    begin, end = "<!-- measured: begin -->\n", "<!-- measured: end -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    open(path, "w", encoding="utf-8").write(before + begin + "\n" + tables + "\n" + end + after)
PYTHON
echo "written into $page and $details"
