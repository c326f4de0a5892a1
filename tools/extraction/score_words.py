#!/usr/bin/env python3
"""Score extracted main texts by the F1 of words, the measure of the WCXB benchmark, by type of page.

usage: score_words.py PAGES.jsonl[.gz] EXTRACTED.jsonl [SEEN.jsonl[.gz]]

PAGES has `id`, `gold_text`, `page_type` and, if any, `gold_with` and `gold_without`: snippets that must and must not
be in the text. EXTRACTED is the output of `leitong extract --jsonl PAGES`. Pages whose id is in SEEN are scored
separately: weights have been learned from them. Pages without gold are skipped, since any measure on them would be a
matter of convention.

Words are runs of letters and digits in lower case; precision, recall and F1 are those of their multisets, averaged
over pages. The F1 of n-grams, by which the other sets are scored, also asks for the order of words and is lower.
"""
import collections
import gzip
import json
import re
import sys


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") if path.endswith(".gz") else open(path, encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle if line.strip())


def words(text):
    return collections.Counter(re.findall(r"\w+", text.lower()))


def scores(text, gold):
    got, gold = words(text), words(gold)
    both = sum((got & gold).values())
    precision, recall = both / max(1, sum(got.values())), both / max(1, sum(gold.values()))
    return precision, recall, 2 * both / max(1, sum(got.values()) + sum(gold.values()))


def share(snippets, text):
    """Returns the share of the snippets that are in the text, ignoring white space; None without snippets."""
    plain = " ".join(text.split())
    found = [" ".join(snippet.split()) in plain for snippet in snippets or []]
    return sum(found) / len(found) if found else None


def mean(values):
    values = [value for value in values if value is not None]
    return f"{sum(values) / len(values):.3f}" if values else "   –"


def main(pages_path, extracted_path, seen_path=None):
    texts = {page["id"]: page.get("text") or "" for page in lines(extracted_path)}
    seen = {page["id"] for page in lines(seen_path)} if seen_path else set()
    rows = collections.defaultdict(list)
    for page in lines(pages_path):
        if not (page.get("gold_text") or "").strip():
            continue
        text = texts.get(page["id"], "")
        row = *scores(text, page["gold_text"]), share(page.get("gold_with"), text), share(page.get("gold_without"), text)
        parts = ["all"] + (["seen" if page["id"] in seen else "not seen"] if seen else [])
        for part in parts:
            rows[part, page.get("page_type") or "?"].append(row)
            rows[part, "all"].append(row)
    print(f"{'pages':10}{'type':15}{'':>5}  precision recall  F1     with   without")
    for (part, kind), found in sorted(rows.items()):
        print(f"{part:10}{kind:15}{len(found):5}  " + "  ".join(mean(column) for column in zip(*found)))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
