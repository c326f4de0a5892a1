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
tools=$data/../tools
leitong=${LEITONG:-target/release/leitong}
[ -d "$data" ] || { echo "$data is not there: set LEITONG_DATA to the folder of labelled pages" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# MinHash, and two packages that read source credits of pages.
# (lxml's cleaner, which trafilatura imports, is a separate package now.)
python=$(tools/measure/python.sh datasketch==2.0.0 trafilatura==2.3.1 gne==0.4.3 lxml_html_clean==0.4.6)

# Two more cells of a row: F1 and precision of MinHash with two minimum similarities.
minhash() { # PAGES
  "$python" tools/measure/minhash.py "$leitong" "$1" "$work/five.jsonl" "$work/eight.jsonl" 2>/dev/null
  local verdicts
  for verdicts in five eight; do
    python3 tools/measure/quality_sets.py score "$1" "$work/$verdicts.jsonl" | awk -F ' *[|] *' '{ printf " %s (%s) |", $5, $3 }'
  done
}

# One row: verdicts on a set of pages, scored.
verdicts() { # SET CONFIG...
  local set=$1 file="$data/$1.jsonl.gz"
  shift
  # Some configurations are detector files, which no run of a user reads.
  LEITONG_EVERY_SETTING=1 "$leitong" dedup "$@" --overwrite --output "$work/verdicts.jsonl" "$file" 2>/dev/null
  python3 "$tools/score_verdicts.py" "$file" "$work/verdicts.jsonl" | python3 -c '
import json, sys
s = json.load(sys.stdin)
pages = s["new"] + s["dup"]
false_share = 100 * s["false_duplicates"] / pages
print("| `%s` | %.3f | %.3f | %.3f | %d of %d (%.1f %%) |" % (sys.argv[1], s["precision"], s["recall"], s["f1"], s["false_duplicates"], pages, false_share))
' "$set"
}

# The same for pages made by tools/measure/quality_sets.py, with results by kind and by length of the original.
changed() { # SET CONFIG...
  local set=$1 file="$work/sets/$1.jsonl"
  shift
  "$leitong" dedup "$@" --overwrite --output "$work/verdicts.jsonl" "$file" 2>/dev/null
  python3 tools/measure/quality_sets.py score --kinds "$file" "$work/verdicts.jsonl" > "$work/score.txt"
  head -1 "$work/score.txt"
  tail -n +2 "$work/score.txt" | sed "s/^    /$set, /" >> "$work/kinds.txt"
}

head='| pages | precision | recall | F1 | false duplicates |
|---|---|---|---|---|'

beside='| pages | precision | recall | F1 | false duplicates | MinHash, J ≥ .5 | MinHash, J ≥ .8 |
|---|---|---|---|---|---|---|'

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

{
  echo "### Default configuration: sets that it was not optimised for"
  echo
  {
    echo "$beside"
    for set in real_newsletters neardup_zh_xitu shells_zh_coolshell; do
      echo "$(verdicts "$set")$(minhash "$data/$set.jsonl.gz")"
    done
    for set in "$work"/sets/*.jsonl; do
      set=$(basename "$set" .jsonl)
      [ "$set" = relations ] || echo "$(changed "$set")$(minhash "$work/sets/$set.jsonl")"
    done
  } | python3 tools/measure/quality_sets.py summary
  echo
  echo "### Default configuration: sets that it was chosen with"
  echo
  {
    echo "$beside"
    for set in real_advisories real_blog_shells real_i18n_docs real_laws_de real_poems_zh real_recipes_zh real_terms real_tldr_short \
      neardup_zh_lctt neardup_zh_fudan neardup_zh_script_pairs templates_zh; do
      echo "$(verdicts "$set")$(minhash "$data/$set.jsonl.gz")"
    done
  } | python3 tools/measure/quality_sets.py summary
  echo
  echo "MinHash: 128 permutations of character 5-grams with LSH (\`datasketch\`), Single-Pass, on the same texts; F1, and precision in brackets."
  echo
  echo "### Excerpts and merged pages"
  echo
  echo "Pages that are related to one of the pages they were made from, by relation; pages related to another page; pages called duplicates:"
  echo
  echo "| kind | pages | \`SAME\` | \`EXCERPT\` | \`EXTENDS\` | \`OVERLAPS\` | \`ALIKE\` | another page | duplicates |"
  echo "|---|---|---|---|---|---|---|---|---|"
  "$leitong" dedup --overwrite --output "$work/verdicts.jsonl" "$work/sets/relations.jsonl" 2>/dev/null
  python3 tools/measure/quality_sets.py relations "$work/sets/relations.jsonl" "$work/verdicts.jsonl"
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
  echo "Authors, days of publication and publishers (\`tools/measure/credits.py\` says how they are counted, [extraction](extraction.md) says what they are):"
  echo
  "$python" tools/measure/credits.py "$leitong" "$data" --peers 2>/dev/null
  echo
  echo "### False matches per pair of unrelated texts"
  echo
  cargo bench --quiet --bench false_matches
} | tee "$work/tables.md"

{
  echo "### By kind of change, and by letters or language of the original"
  echo
  echo "| set, kind | found | of | false duplicates |"
  echo "|---|---|---|---|"
  sed -E 's/^(.*): ([0-9]+) of ([0-9]+) found, ([0-9]+) false$/| \1 | \2 | \3 | \4 |/' "$work/kinds.txt"
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
    echo "$head"
    for set in neardup_zh_lctt neardup_zh_xitu neardup_zh_fudan; do
      verdicts "$set" --config "$config"
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
