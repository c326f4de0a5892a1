#!/usr/bin/env python3
"""Reruns the experiments of the papers on the labelled streams of LEITONG_DATA: precision and recall by one
parameter, the parts of networks, and copies planted among many other pages. Writes the tables between the markers of
tools/measure/results/papers.md. `make experiments` runs it.

usage: tools/measure/experiments.py tools/measure/results/papers.md [LEITONG [PART…]]

LEITONG_LEXICONS names a folder with WordNet's database files and lists of synonyms (docs/detectors.md says where to get
them); without it, experiments with a lexicon are left out. With a PART (the name of a function in PARTS), only that part's table is rewritten.
"""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import planted as planting

PAGE = pathlib.Path(sys.argv[1])
LEITONG = sys.argv[2] if len(sys.argv) > 2 else "target/release/leitong"
DATA = pathlib.Path(os.environ.get("LEITONG_DATA", "../shared/data"))
TEXTS = os.environ.get("TEXTS", "200")
LEXICONS = pathlib.Path(os.environ.get("LEITONG_LEXICONS", "target/lexicons"))
OUT = pathlib.Path("target/experiments")
LCTT, XITU, FUDAN = (DATA / f"neardup_zh_{name}.jsonl.gz" for name in ("lctt", "xitu", "fudan"))


def toml(settings: str) -> str:
    """Returns `detector; table.key = value; …` as a configuration file."""
    detector, *keys = [part.strip() for part in settings.split(";")]
    return f'detector = "{detector}"\n' + "".join(f"{key}\n" for key in keys if key)


def evaluate(variants: list[tuple[str, str]], inputs: list[pathlib.Path], texts: str = "0", tag: str = "") -> dict:
    """Returns the reports of some variants, by name."""
    arguments = []
    for number, (_, settings) in enumerate(variants):
        file = OUT / f"v{number}.toml"
        file.write_text(toml(settings), encoding="utf-8")
        arguments += ["--variant", str(file)]
    report = OUT / f"report{tag}.json"
    subprocess.run(
        [LEITONG + "-lab", "eval", *arguments, "--texts", texts, "--pairs", "2000", "--overwrite", "--json", str(report), *map(str, inputs)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    detectors = json.loads(report.read_text(encoding="utf-8"))["detectors"]
    return {name: detector for (name, _), detector in zip(variants, detectors)}


def percent(report: dict) -> str:
    stream = report["stream"]
    return f'{100 * stream["precision"]["value"]:.1f} / {100 * stream["recall"]["value"]:.1f}'


def recognised(report: dict, change: str, level: float) -> str:
    found = [r for r in report["recall"] if r["condition"] == {"change": change, "level": level}]
    return f'{100 * found[0]["recall"]["value"]:.1f}'


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def sweep(title: str, about: str, variants: list[tuple[str, str]]) -> str:
    """Returns precision and recall on both streams, and on changed texts, for each variant."""
    lctt, xitu = evaluate(variants, [LCTT], TEXTS), evaluate(variants, [XITU])
    changes = [("rewritten", 0.05), ("deleted", 0.2), ("paragraphs-moved", 0.5), ("excerpt", 0.6)]
    rows = []
    for name, _ in variants:
        rows.append([name, percent(lctt[name]), percent(xitu[name])]
                    + [recognised(lctt[name], *change) for change in changes]
                    + [f'{lctt[name]["bytes"]:.0f}'])
    head = ["setting", "lctt", "xitu", "5 % rewritten", "20 % deleted", "50 % paragraphs moved", "60 % excerpt", "bytes"]
    print(title, file=sys.stderr)
    return f"### {title}\n\n{about}\n\n" + table(head, rows)


def simhash(hash_name: str, weight: str, distance: int) -> str:
    return (f'simhash; simhash.hash = "{hash_name}"; simhash.weight = "{weight}"; simhash.near.max_distance = {distance}; '
            'simhash.near.candidates = "blocks"; simhash.near.confirm = "none"')


def paper_002() -> str:
    variants = [(f"SDBM over UTF-16, tf, distance ≤ {d}", simhash("sdbm", "tf", d)) for d in (2, 3)]
    variants += [("SDBM over UTF-8, tf, distance ≤ 3", simhash("sdbm-utf8", "tf", 3))]
    variants += [("XXH3, tf, distance ≤ 3", simhash("xxh3", "tf", 3))]
    variants += [(f"XXH3, 1 + ln tf, distance ≤ {d}", simhash("xxh3", "ln-tf", d)) for d in (3, 5, 7, 9, 11)]
    variants += [("default: confirmed by a sketch", "simhash")]
    return sweep("SimHash: hash, weight, distance (002)",
                 "The paper's algorithm says distance ≤ 3, its experiments “less than 3”. It names SDBM.", variants)


def paper_001() -> str:
    base = ("paragraph; paragraph.bits = \"128\"; paragraph.terms = \"representative\"; paragraph.weight = \"tf\"; "
            "paragraph.idf = true; paragraph.near.candidates = \"blocks\"; paragraph.near.matching = \"strict\"; ")
    variants = [(f"paper, T = {t}", base + f"paragraph.near.max_distance = {t}") for t in (1, 3, 5, 8)]
    variants += [(f"ours, T = {t}", f"paragraph; paragraph.near.max_distance = {t}") for t in (1, 3, 5)]
    variants += [("default: T = 8", "paragraph")]
    variants += [(f"ours, T = {t}", f"paragraph; paragraph.near.max_distance = {t}") for t in (10, 12)]
    variants += [("default with 128 bits, T = 16", "paragraph; paragraph.bits = \"128\"; paragraph.near.max_distance = 16")]
    variants += [("default, representative sentences", "paragraph; paragraph.terms = \"representative\"")]
    variants += [(f"default, share ≥ {s}", f"paragraph; paragraph.near.share_min = {s}") for s in (0.1, 0.15, 0.35, 0.5)]
    return sweep("Paragraph fingerprints: T, width, share (001)",
                 "The paper demands that the i-th paragraphs of both pages differ in at most T = 3 of 128 bits.", variants)


def paper_000() -> str:
    def network(name: str, **keys: object) -> str:
        graph = "; ".join(f"{name}.graph.{key} = {value}" for key, value in keys.items())
        return f"{name}; {graph}"
    n = "word-network"
    variants = [("paper: l = 30, p = 20", n)]
    variants += [(f"p = {p}", network(n, key_concepts=p)) for p in (5, 10, 30)]
    variants += [(f"l = {label}", network(n, hubs=l)) for label, l in (("20", 20), ("60", 60), ("all nodes", 256))]
    variants += [(f"edges over {e} terms", network(n, edge_terms=e)) for e in (1, 4)]
    variants += [(f"cosine > {c}", f"{n}; {n}.near.similarity_above = {c}") for c in (0.8, 0.95)]
    variants += [(f"spread {'left out' if s == 1 else f'< {s}'}", f"{n}; {n}.near.spread_below = {s}") for s in (0.05, 1)]
    variants += merged((0.75, 0.25))
    return sweep("Networks: l, p, edges, thresholds, lexicons (000)",
                 "Over words (DWSWN), since no lexicon is part of the project; without one `concept-network` does the same. l nodes of the "
                 "highest degree are tried, p of them are key words. Rows with a lexicon: `concept-network` (DWDCS), else as in the first row; "
                 "two words are one concept where their synonyms overlap by more than 0.5.", variants)


def lexicons() -> list[tuple[str, list[pathlib.Path]]]:
    """Returns lexicons by name: WordNet, Chinese lists, both; an empty list if there are none."""
    files = sorted(LEXICONS.rglob("*")) if LEXICONS.is_dir() else []
    wordnet = [file for file in files if re.fullmatch(r"data\.\w+|\w+\.exc", file.name)]
    lists = [file for file in files if file.suffix == ".tsv"]
    names = " and ".join(file.stem.capitalize() for file in lists)
    found = [("WordNet", wordnet), (names, lists), (f"{names} and WordNet", lists + wordnet)]
    if not (wordnet and lists):
        print(f"{LEXICONS} holds no WordNet (data.noun, …) and list (*.tsv): rows with lexicons are left out", file=sys.stderr)
        return []
    return found


def merged(overlaps: tuple[float, ...]) -> list[tuple[str, str]]:
    """Returns `concept-network` with each lexicon, and with the last one for other bounds of the overlap."""
    found = [(name, concepts(files)) for name, files in lexicons()]
    return found + [(f"{name}, overlap > {o}", f"{settings}; concept-network.overlap_above = {o}") for name, settings in found[-1:] for o in overlaps]


def concepts(files: list[pathlib.Path]) -> str:
    return f"concept-network; concept-network.lexicon_files = {json.dumps([str(file.resolve()) for file in files])}"


def nodes() -> str:
    """Returns the parts of networks by length of the text (table 1 of the paper), and for English texts."""
    variants = [("words (DWSWN)", "word-network")] + merged((0.25, 0))
    parts = length_parts([("500–2,000", 500, 2000), ("2,000–5,000", 2000, 5000), ("above 5,000", 5000, 1 << 30)])
    english = [page for name in ("articles", "cleaneval", "mixed") for page in lines(DATA / f"extract_en_{name}.jsonl.gz")]
    parts += [("English pages", [{"id": page["id"], "url": page["url"], "text": page["gold_text"]} for page in english if page["gold_text"]])]
    reports = [evaluate(variants, [write("part.jsonl", part)], tag="_nodes") for _, part in parts]
    rows = [["paper: words → concepts", "786 → 498", "1,938 → 1,219", "5,378 → 3,197", "–"]]
    for name, _ in variants:
        row = [name]
        for report in reports:
            count = {count["name"]: count["mean"] for count in report[name]["counts"]}
            became = "" if count["words"] == count["concepts"] else f' → {count["concepts"]:.0f} (−{100 - 100 * count["concepts"] / count["words"]:.1f} %)'
            row.append(f'{count["words"]:.0f}{became}; {count["connected"]:.0f}; {count["hubs"]:.0f}')
        rows.append(row)
    return ("### What networks are made of (000)\n\nMeans over the pages of lctt and xitu, by characters of the first page of a cluster, and over the gold texts of "
            "English pages: different words → concepts (the share that merging takes away); nodes of the largest connected part, of 256 at most; hubs whose removal is tried.\n\n"
            + table(["network", *(f"{name} ({len(part):,})" for name, part in parts)], rows))


def i_match() -> str:
    idf = OUT / "own.tsv"
    subprocess.run([LEITONG, "idf", "build", "--overwrite", "--output", str(idf), str(LCTT)], check=True, stderr=subprocess.DEVNULL)
    rows = []
    for name, settings in [("IDF ≥ 0.5 (001)", "i-match"), ("20 of highest IDF (000)", 'i-match; i-match.selection = "top"')]:
        for table_name, key in [("the one that ships", ""), ("counted over lctt", '; idf.file = "own.tsv"')]:
            found = [evaluate([(name, settings + key)], [stream])[name] for stream in (LCTT, XITU)]
            rows.append([name, table_name, *map(percent, found)])
    return ("### I-Match: IDF of the own pages or of others (000)\n\nThe paper finds I-Match to depend on the corpus that IDF comes "
            "from.\n\n" + table(["terms", "IDF table", "lctt", "xitu"], rows))


def paper_004() -> str:
    n = "agglomerate-term"
    def near(similarity: str, least: float) -> str:
        return f'{n}; {n}.near.similarity = "{similarity}"; {n}.near.similarity_min = {least}'
    variants = [("default: N = 3, 4 and 5; weighted Jaccard ≥ 0.55", n)]
    variants += [(f"N = {k}", f'{n}; {n}.key_terms = "{k}"') for k in (3, 4, 5)]
    variants += [(f"weighted Jaccard ≥ {s}", near("weighted-jaccard", s)) for s in (0.4, 0.5, 0.6, 0.65, 0.7)]
    variants += [(f"cosine ≥ {s}", near("cosine", s)) for s in (0.7, 0.8, 0.9, 0.95)]
    variants += [(f"{t} terms", f"{n}; {n}.terms_max = {t}") for t in (10, 40)]
    variants += [("relative gap (the paper's words)", f'{n}; {n}.gap = "relative"'), ("plain tf", f'{n}; {n}.gap = "none"')]
    return sweep("Agglomerate terms: N, threshold, score (004)",
                 "The extended linear comparison joins the N best terms; the paper unites N = 3, 4, 5.", variants)


DETECTORS = ["simhash", "paragraph", "agglomerate-term", "concept-network", "i-match", "tf-idf", "punctuation", "sentence-ends", "shingle"]


def lines(path: pathlib.Path) -> list[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write(name: str, pages: list[dict]) -> pathlib.Path:
    path = OUT / name
    path.write_text("".join(json.dumps(page, ensure_ascii=False) + "\n" for page in pages), encoding="utf-8")
    return path


LENGTHS = [("below 1,000", 0, 1000), ("1,000–2,000", 1000, 2000), ("2,000–5,000", 2000, 5000), ("above 5,000", 5000, 1 << 30)]


def length_parts(bounds: list[tuple[str, int, int]]) -> list[tuple[str, list[dict]]]:
    """Returns the pages of lctt and xitu by the length of the first page of each cluster."""
    pages = lines(LCTT) + lines(XITU)
    length: dict[str, int] = {}
    for page in pages:
        length.setdefault(page["cluster"], len("".join(page["text"].split())))
    return [(name, [page for page in pages if low <= length[page["cluster"]] < high]) for name, low, high in bounds]


def by_length() -> str:
    found, head = [], ["detector"]
    for name, part in length_parts(LENGTHS):
        head.append(f"{name} ({len(part):,} pages)")
        found.append(evaluate([(d, d) for d in DETECTORS], [write("part.jsonl", part)]))
    rows = [[f"`{d}`", *(percent(report[d]) for report in found)] for d in DETECTORS]
    return ("### By length of the text (000, 004)\n\nCharacters of the first page of each cluster, lctt and xitu together.\n\n"
            + table(head, rows))


def by_size() -> str:
    """Returns figures by size; paper 004 counts 2,900 and 9,852 documents."""
    all_lctt = lines(LCTT)
    sets = [("2,900 of lctt", [write("part.jsonl", all_lctt[:2900])]), (f"{len(all_lctt):,} of lctt", [LCTT])]
    sets += [("lctt, xitu and fudan as one stream", [LCTT, XITU, FUDAN])]
    found, head = [], ["detector"]
    for name, inputs in sets:
        found.append(evaluate([(d, d) for d in DETECTORS], inputs))
        head.append(name)
    rows = [[f"`{d}`", *(percent(report[d]) for report in found)] for d in DETECTORS]
    return ("### By size of the collection (004, 000)\n\n004 compares 2,900 with 9,852 documents. All three streams as one are "
            "the longest that holds labelled near-duplicates as they arose.\n\n" + table(head, rows))


def planted() -> str:
    return planting.section(DATA, LEITONG, OUT, table)


PARTS = [paper_002, paper_001, paper_000, nodes, i_match, paper_004, by_length, by_size, planted]


def main() -> None:
    if not DATA.is_dir():
        sys.exit(f"{DATA} is not there: set LEITONG_DATA to the folder of labelled pages")
    OUT.mkdir(parents=True, exist_ok=True)
    begin, end = "<!-- experiments: begin -->\n", "<!-- experiments: end -->"
    before, rest = PAGE.read_text(encoding="utf-8").split(begin)
    old, after = rest.split(end)
    # Each part follows a comment with its name, so it can be rewritten separately.
    _, *old_parts = re.split(r"<!-- (\w+) -->\n", old)
    sections = dict(zip(old_parts[::2], old_parts[1::2]))
    wanted = sys.argv[3:] or [part.__name__ for part in PARTS]
    sections |= {part.__name__: part() + "\n" for part in PARTS if part.__name__ in wanted}
    text = "".join(f"<!-- {part.__name__} -->\n{sections[part.__name__]}" for part in PARTS if part.__name__ in sections)
    PAGE.write_text(before + begin + "\n" + text + end + after, encoding="utf-8")


main()
