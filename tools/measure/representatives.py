#!/usr/bin/env python3
"""Simulates clusters with several representatives on labelled pages (docs/adr/0051-one-founder.md).

usage: representatives.py [--each] FOLDER...

Each folder has one file of `examples/pairs.rs` per set, all with the addresses of one kind:
`quality_sets.py addresses none SET | fingerprints | pairs > FOLDER/SET.jsonl`.

Today a page joins the nearest founder that is near, or founds a cluster. Here a page that joined a founder with a share
below `below` (the smaller of both shares) is also kept as a representative of the cluster, at most `most` of them. A page
that is near no founder joins a cluster by a near representative if the founder is related to it. Clusters are divided
into halves by a hash; every row has the means over the sets and the totals of one half, and the growth of the table over
all pages, in total and of the set where it is highest. "Inherited" are false duplicates of a representative that had
itself joined the wrong cluster.
"""
import argparse
import hashlib
import json
import pathlib
from dataclasses import dataclass


@dataclass
class Rule:
    name: str
    below: int = 0  # basis points
    above: int = 0  # a page with a lower share does not become a representative
    most: int = 4
    named: bool = False  # only the related founder that a verdict names, instead of any
    by_resemblance: bool = False  # facts, numbers, subjects and lengths must not tell page and founder apart
    founders_only: bool = False  # a page that joined by a representative does not become one


STRICT = {"named": True, "by_resemblance": True, "founders_only": True}
RULES = [
    Rule("today"),
    Rule("below .70", 7_000),
    Rule("below .80", 8_000),
    Rule("below .90", 9_000),
    Rule("all", 10_001, most=1_000_000),
    Rule("strict, below .80, at most 2", 8_000, most=2, **STRICT),
    Rule("strict, below .90, at most 1", 9_000, most=1, **STRICT),
    Rule("strict, below .90, at most 2", 9_000, most=2, **STRICT),
    Rule("strict, below .90, at most 4", 9_000, most=4, **STRICT),
    Rule("strict, .75 to .90, at most 2", 9_000, 7_500, most=2, **STRICT),
]


def half(page):
    return hashlib.sha256(str(page["cluster"]).encode()).digest()[0] % 2


def joined(page, founder_of, rule):
    """Returns the entry by which the page joins a cluster, and the lower share with it."""
    known = [row for row in page["near"] if row[0] in founder_of]
    for other, *shares in known:
        if founder_of[other] == other:
            return other, min(shares)
    founders = [row for row in page["related"] if founder_of.get(row[0]) == row[0]]
    related = {founder: reason for founder, _, _, reason in (founders[:1] if rule.named else founders)}
    for other, *shares in known:
        founder = founder_of[other]
        if founder in related and (not rule.by_resemblance or related[founder] == "resemblance"):
            return other, min(shares)
    return None


def cluster(pages, rule):
    """Returns for each page its founder and the entry by which it joined (itself if it founded), and the entries."""
    founder_of, texts, counts, outcome = {}, {}, {}, []
    for number, page in enumerate(pages):
        if page["text"] in texts:
            outcome.append((texts[page["text"]],) * 2)
            continue
        by = joined(page, founder_of, rule)
        founder = number if by is None else founder_of[by[0]]
        outcome.append((founder, number if by is None else by[0]))
        texts[page["text"]] = founder
        direct = by is not None and by[0] == founder
        if by is None:
            founder_of[number] = number
        elif (direct or not rule.founders_only) and rule.above <= by[1] < rule.below and counts.get(founder, 0) < rule.most:
            founder_of[number] = founder
            counts[founder] = counts.get(founder, 0) + 1
    return outcome, founder_of


def score(pages, outcome, part):
    """Returns precision, recall, F1, false, missed, found by a representative, false by one, inherited."""
    right = dups = false = found = false_by = inherited = 0
    for number, (page, (founder, by)) in enumerate(zip(pages, outcome)):
        if page["label"] == "ambiguous" or half(page) != part:
            continue
        good = founder != number and pages[founder]["cluster"] == page["cluster"]
        wrong = founder != number and not good
        dups += page["label"] == "dup"
        right += good and page["label"] == "dup"
        false += wrong
        if by not in (founder, number):
            found += good
            false_by += wrong
            inherited += wrong and pages[by]["cluster"] == page["cluster"]
    precision, recall = right / (right + false) if right + false else 1.0, right / dups if dups else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return precision, recall, f1, false, dups - right, found, false_by, inherited


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", action="store_true", help="print the F1 of each set as well")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    print("| pages | rule | half | P | R | F1 | false | missed | found by a representative | false by one | inherited | growth | highest |")
    print("|---" * 13 + "|")
    for folder in arguments.folders:
        sets = {path.stem: [json.loads(line) for line in open(path, encoding="utf-8")] for path in sorted(folder.glob("*.jsonl"))}
        founders = {}
        for rule in RULES:
            runs = {name: cluster(pages, rule) for name, pages in sets.items()}
            if not founders:
                founders = {name: len(entries) for name, (_, entries) in runs.items()}
            growth = {name: len(entries) / founders[name] for name, (_, entries) in runs.items()}
            total = sum(len(entries) for _, entries in runs.values()) / sum(founders.values())
            for part in (0, 1):
                scores = {name: score(sets[name], outcome, part) for name, (outcome, _) in runs.items()}
                # A set without copies has no F1.
                scored = [s for s in scores.values() if s[1] or s[4]]
                means = " | ".join(f"{sum(s[at] for s in scored) / len(scored):.4f}" for at in range(3))
                totals = " | ".join(str(sum(s[at] for s in scores.values())) for at in range(3, 8))
                print(f"| {folder.name} | {rule.name} | {'AB'[part]} | {means} | {totals} | {total:.3f} | {max(growth.values()):.2f} |", flush=True)
                if arguments.each:
                    print("  ", ", ".join(f"{name} {s[2]:.3f} ({growth[name]:.2f})" for name, s in scores.items()))


if __name__ == "__main__":
    main()
