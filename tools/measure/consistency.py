#!/usr/bin/env python3
"""Measures consistency: whether the same text is found when only the theme of a page differs.

usage: consistency.py LEITONG DATA

DATA is the folder of the evaluation sets, LEITONG the program. Prints rows of a Markdown table, all by the F1 of
n-grams between two extracted texts: the mean, the share of pairs below .8, and the mean length kept of the longer text.

Renamed: each labelled page compared with itself under other classes and ids (`tools/extraction/names.py` says which).
Themes: pages of one cluster compared with its first page, such as a weblog's article before and after a change of
theme. Some of these texts were edited too, so 1 cannot be reached; compare the figures of two programs.
"""
import collections
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "extraction"))
import names  # noqa: E402

THEMES = ("real_blog_shells", "shells_zh_coolshell")


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle)


def grams(text):
    """Returns 4-grams of words for alphabets, 5-grams of letters for other scripts."""
    text = text.lower()
    is_alphabet = sum(c.isascii() and c.isalpha() for c in text) * 2 > sum(c.isalpha() for c in text)
    units, n = ("".join(c if c.isalnum() else " " for c in text).split(), 4) if is_alphabet else ("".join(text.split()), 5)
    return collections.Counter(tuple(units[at : at + n]) for at in range(max(1, len(units) - n + 1))) if units else collections.Counter()


def extracted(program, pages):
    """Returns the texts of some pages, by id."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for page, html in pages:
            file.write(json.dumps({"id": page, "url": "", "html": html}) + "\n")
        file.flush()
        out = subprocess.run([program, "extract", "--jsonl", file.name], stdout=subprocess.PIPE, check=False)
    if out.returncode not in (0, 3):
        sys.exit(f"{program} failed")
    return {line["id"]: line["text"] for line in map(json.loads, out.stdout.splitlines())}


def row(name, pairs):
    alike, kept = [], []
    for one, other in pairs:
        a, b = grams(one), grams(other)
        total = sum(a.values()) + sum(b.values())
        alike.append(2 * sum((a & b).values()) / total if total else 1.0)
        kept.append(min(len(one), len(other)) / max(len(one), len(other), 1) if total else 1.0)
    count = len(alike)
    if count:
        below = sum(value < 0.8 for value in alike)
        print(f"| {name} | {count} | {sum(alike) / count:.4f} | {below} ({100 * below / count:.1f} %) | {sum(kept) / count:.3f} |", flush=True)


def main(program, data):
    print("| pages | pairs | same text | below .8 | of the longer |\n|---|---|---|---|---|")
    everything = collections.defaultdict(list)
    for name in names.SETS:
        pages = [page for page in lines(f"{data}/{name}.jsonl.gz") if page.get("html")]
        own = extracted(program, ((page["id"], page["html"]) for page in pages))
        for kind in names.KINDS:
            renamed = extracted(program, ((page["id"], names.rename(page["html"], kind, page["id"])) for page in pages))
            pairs = [(own[page], renamed[page]) for page in own if own[page] or renamed[page]]
            everything[kind] += pairs
            row(f"`{name}`, {kind}", pairs)
    for kind, pairs in everything.items():
        row(f"all, {kind}", pairs)
    for name in THEMES:
        pages = list(lines(f"{data}/{name}.jsonl.gz"))
        texts = extracted(program, ((page["id"], page["html"]) for page in pages))
        clusters = collections.defaultdict(list)
        for page in pages:
            clusters[page["cluster"]].append(texts[page["id"]])
        row(f"`{name}`, themes", [(first, other) for first, *others in clusters.values() for other in others])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
