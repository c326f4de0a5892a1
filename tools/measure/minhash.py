#!/usr/bin/env python3
"""MinHash with LSH over character 5-grams, as implemented by the package `datasketch`, for comparison in `make quality`.

usage: minhash.py LEITONG PAGES VERDICTS_5 VERDICTS_8

Single-Pass as in `leitong dedup`: a page joins the founder of a cluster with the greatest estimated Jaccard similarity, if that
is at least .5 (VERDICTS_5) or .8 (VERDICTS_8). 128 permutations. The text of HTML pages comes from `leitong extract`, so
only the methods differ; white space and case do not count.
"""
import gzip
import json
import subprocess
import sys

from datasketch import MinHash, MinHashLSH

PERMUTATIONS = 128
SHINGLE = 5


def lines(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            if line.strip():
                yield json.loads(line)


def texts(leitong, path):
    """Yields id and text of each page, in order."""
    pages = list(lines(path))
    if all("text" in page for page in pages):
        return [(page["id"], page["text"]) for page in pages]
    found = subprocess.run([leitong, "extract", "--jsonl", path], check=True, capture_output=True, text=True).stdout
    extracted = {page["id"]: page.get("text") for page in map(json.loads, found.rstrip("\n").split("\n"))}
    return [(page["id"], extracted.get(page["id"]) or "") for page in pages]


def sketch(text):
    run = "".join(text.split()).lower()
    shingles = {run[at : at + SHINGLE].encode() for at in range(max(1, len(run) - SHINGLE + 1))}
    minhash = MinHash(num_perm=PERMUTATIONS)
    minhash.update_batch(shingles)
    return minhash


def single_pass(pages, threshold, out):
    index, founders = MinHashLSH(threshold=threshold, num_perm=PERMUTATIONS), {}
    for page_id, minhash in pages:
        similarities = [(founders[other].jaccard(minhash), other) for other in index.query(minhash)]
        nearest = max(similarities, default=(0.0, None))
        joins = nearest[0] >= threshold
        if not joins:
            founders[page_id] = minhash
            index.insert(page_id, minhash)
        verdict = dict(page_id=page_id, kind="NEAR_DUPLICATE" if joins else "UNIQUE", canonical_page_id=nearest[1] if joins else page_id)
        out.write(json.dumps(verdict) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        raise SystemExit(__doc__)
    sketched = [(page_id, sketch(text)) for page_id, text in texts(sys.argv[1], sys.argv[2])]
    for threshold, path in ((0.5, sys.argv[3]), (0.8, sys.argv[4])):
        with open(path, "w", encoding="utf-8") as verdicts:
            single_pass(sketched, threshold, verdicts)
