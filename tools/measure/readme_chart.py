#!/usr/bin/env python3
"""Draws the chart of the README from measured figures: the tables of docs/quality.md and docs/corpora.md, and
tools/measure/results/simhash.tsv. `make readme-figures` runs it; a test compares the figures of the chart with their sources.

usage: readme_chart.py docs/images/quality-and-speed.svg
"""
import pathlib
import re
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs"
SIMHASH = HERE / "results/simhash.tsv"
# As docs/quality.md divides them: the default was chosen with one group of sets and not with the other.
GROUPS = ["### Sets that no rule was chosen with", "### Sets that the default was chosen with"]


def rows(text):
    """The cells of each row of the first table in a text."""
    table = text[text.index("\n|") + 1 :].split("\n\n")[0]
    return [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def quality():
    """F1 by method, group and set. A set without a copy has none."""
    found = {name: [{}, {}] for name in ["Leitong", "MinHash, J ≥ .5", "MinHash, J ≥ .8", "SimHash, distance 9", "SimHash, distance 3"]}
    page = (DOCS / "quality.md").read_text(encoding="utf-8")
    groups = {}
    for number, group in enumerate(GROUPS):
        for name, _, _, f1, _, _, _, five, eight in rows(page.split(group, 1)[1]):
            if float(f1) == 0:
                continue
            groups[name] = number
            for method, cell in zip(found, [f1, five, eight]):
                found[method][number][name] = float(cell.split()[0])
    for line in SIMHASH.read_text(encoding="utf-8").splitlines():
        method, _, rest = line.partition("\t")
        name, _, figure = rest.partition("\t")
        if method in ("simhash-three", "simhash-nine") and name != "cpu_seconds":
            method = "SimHash, distance " + {"three": "3", "nine": "9"}[method.split("-")[1]]
            found[method][groups[name]][name] = float(figure)
    sizes = {method: [len(sets) for sets in by_group] for method, by_group in found.items()}
    assert len({tuple(size) for size in sizes.values()}) == 1, f"not the same sets: {sizes}"
    return found


def speed():
    """Documents per second by program, as docs/corpora.md has them."""
    page = (DOCS / "corpora.md").read_text(encoding="utf-8").split("<!-- bench-corpora: begin -->")[1]
    table = {re.sub(r" [\d.]+$", "", row[0]): row[1] for row in rows(page.split("<!-- bench-corpora: end -->")[0])}
    names = {"leitong, JSON lines": "Leitong"}
    return [(names.get(name, name), rate) for name, rate in table.items() if "Parquet" not in name]


STYLE = """
    .back { fill: #ffffff; } .held { fill: #2459a6; } .chosen { fill: #9dbbe3; } .other { fill: #7a8494; } .othershade { fill: #c3cad4; }
    .head { fill: #1b1b1b; font: bold 14px sans-serif; } .text { fill: #1b1b1b; font: 13px sans-serif; } .small { fill: #44506a; font: 12px sans-serif; }
    .mark { stroke: #b3261e; stroke-width: 2; }
    @media (prefers-color-scheme: dark) {
      .back { fill: #15181d; } .held { fill: #8ab4f8; } .chosen { fill: #41618f; } .other { fill: #8d97a6; } .othershade { fill: #4a525e; }
      .head { fill: #f0f0f0; } .text { fill: #f0f0f0; } .small { fill: #c3cde0; } .mark { stroke: #ff8a80; }
    }"""


def draw():
    out = []
    text = lambda x, y, kind, words, anchor="start": out.append(f'<text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{words}</text>')
    bar = lambda x, y, width, kind: out.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width:.1f}" height="13" rx="2"/>')
    left, full, top = 150, 185, 66
    figures = quality()
    others, chosen = (len(sets) for sets in figures["Leitong"])
    text(16, 26, "head", f"Copies found and not invented: F1, mean over {others + chosen} labelled sets")
    text(16, 45, "small", "without addresses: mean, and the weakest set (red mark)")
    for at, (method, by_group) in enumerate(figures.items()):
        y = top + 38 * at
        text(16, y + 18, "text", method)
        kinds = ["held", "chosen"] if method == "Leitong" else ["other", "othershade"]
        for row, (sets, kind) in enumerate(zip(by_group, kinds)):
            mean, weakest = round(statistics.mean(sets.values()), 9), min(sets.values())
            bar(left, y + 15 * row, full * mean, kind)
            mark = left + full * weakest
            out.append(f'<path class="mark" d="M{mark:.1f} {y + 15 * row - 1}v15"/>')
            text(left + full + 10, y + 15 * row + 11, "small", f"{mean:.3f}, {weakest:.3f}")
    y = top + 38 * len(figures) + 6
    text(16, y + 10, "small", f"dark: {others} sets that had no part in any choice")
    text(16, y + 28, "small", f"light: {chosen} sets that it was chosen with")

    left, full = 590, 190
    text(460, 26, "head", "Documents per second, two cores")
    text(460, 45, "small", "MinHash in five packages")
    rates = speed()
    most = max(float(rate.replace(",", "")) for _, rate in rates)
    for at, (name, rate) in enumerate(rates):
        y = top + 28 * at
        text(460, y + 11, "text", name)
        bar(left, y, max(1.0, full * float(rate.replace(",", "")) / most), "held" if name == "Leitong" else "other")
        text(left + full * float(rate.replace(",", "")) / most + 8, y + 11, "small", rate)
    cpu = dict(re.findall(r"^(\S+)\tcpu_seconds\t(\S+)$", SIMHASH.read_text(encoding="utf-8"), re.M))
    y = top + 28 * len(rates) + 12
    text(460, y + 10, "small", "SimHash is Leitong's own, without confirmation:")
    text(460, y + 28, "small", f"{float(cpu['simhash-three']) / float(cpu['default']):.2f} times the default's CPU time")
    height = top + 38 * len(figures) + 44
    words = "F1 of Leitong, MinHash and SimHash on two groups of sets, and documents per second of Leitong and of MinHash packages."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 {height}" role="img" aria-labelledby="t d">\n'
        f'  <title id="t">Quality and speed compared with MinHash and SimHash</title>\n  <desc id="d">{words}</desc>\n  <style>{STYLE}\n  </style>\n'
        f'  <rect class="back" width="840" height="{height}" rx="8"/>\n  ' + "\n  ".join(out) + "\n</svg>\n"
    )


if __name__ == "__main__":
    pathlib.Path(sys.argv[1]).write_text(draw(), encoding="utf-8")
