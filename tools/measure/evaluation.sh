#!/usr/bin/env bash
# Runs `leitong-lab eval` over the labelled streams of LEITONG_DATA, and writes its tables between the markers of
# tools/measure/results/detectors.md. `make evaluation` runs it.
#
# usage: tools/measure/evaluation.sh tools/measure/results/detectors.md [LEITONG-LAB]
set -euo pipefail
page=$1
lab=${2:-target/release/leitong-lab}
data=${LEITONG_DATA:-../shared/data}
texts=${TEXTS:-1000}
[ -d "$data" ] || { echo "$data is not there: set LEITONG_DATA to the folder of labelled pages" >&2; exit 1; }
out=target/evaluation
mkdir -p "$out"
detectors=(simhash paragraph agglomerate-term concept-network word-network shingle i-match tf-idf punctuation sentence-ends)
arguments=()
for detector in "${detectors[@]}"; do arguments+=(--detector "$detector"); done
for detector in simhash paragraph agglomerate-term shingle i-match sentence-ends; do
  arguments+=(--variant "examples/$detector-paper.toml")
done
for set in neardup_zh_lctt neardup_zh_xitu; do
  "$lab" eval "${arguments[@]}" --overwrite --texts "$texts" --json "$out/$set.json" \
    --markdown "$out/$set.md" "$data/$set.jsonl.gz" > /dev/null
done
python3 - "$page" "$out" <<'PYTHON'
import sys
page, out = sys.argv[1:]
text = open(page, encoding="utf-8").read()
for name in ("neardup_zh_lctt", "neardup_zh_xitu"):
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    table = open(f"{out}/{name}.md", encoding="utf-8").read()
    # The path of the data is local to this machine.
    lines = table.split("\n", 1)[1].strip().split("\n")
    # Times are affected by other work on the machine; `cargo bench --bench detectors` measures them.
    cost = next(at for at, line in enumerate(lines) if line.startswith("| detector | µs"))
    for at in range(cost, lines.index("", cost)):
        cells = lines[at].split("|")
        lines[at] = "|".join(cells[:2] + cells[3:])
    text = before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after
open(page, "w", encoding="utf-8").write(text)
PYTHON
echo "written into $page"
