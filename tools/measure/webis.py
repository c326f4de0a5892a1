#!/usr/bin/env python3
"""Scores Leitong on pairs of web pages and news articles that others judged by hand: 358 pairs by Fröbe et al. (ECIR 2020).

usage: webis.py CLONE [--half a|b] [--leitong PROGRAM]

CLONE is a clone of github.com/mam10eks/trec-near-duplicates, bare or not. Its texts belong to collections with their own
licences, so no text may be copied into this repository. Each text is a whole page, menus included, without an address. Labels:
0 different, 1 near-duplicates with differences in what they say, 2 and 3 the same for a reader.

Prints precision, recall and F1 at label >= 1 and >= 2: for `leitong dedup` over the two texts of a pair, alone, and for the plain
Jaccard similarity of word 3-grams (>= .5) and of character 5-grams (>= .8). With --half only half of the pairs, by a hash of the
pair's name, so that a choice made with one half can be judged with the other.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import io
import json
import re
import subprocess
import tarfile

FOLDER = "s3-document-pair-sample"


def pairs(clone):
    """Returns label and texts of each pair, by its name."""
    command = ["git", "-C", clone, "archive", "--format=tar", "HEAD", FOLDER]
    archive = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    found = collections.defaultdict(dict)
    for member in (tar := tarfile.open(fileobj=io.BytesIO(archive))).getmembers():
        pair, _, file = member.name.removeprefix(FOLDER + "/").rpartition("/")
        if file == "label" or file.startswith("full-text-"):
            found[pair][file] = tar.extractfile(member).read().decode("utf-8", "replace")
    for pair, files in sorted(found.items()):
        left, right = pair.rpartition("/")[2].split("_vs_")
        yield pair, int(files["label"]), files[f"full-text-{left}"], files[f"full-text-{right}"]


def grams(items, size):
    return {tuple(items[at : at + size]) for at in range(max(1, len(items) - size + 1))}


def jaccard(a, b):
    return len(a & b) / len(a | b)


def words(text):
    return grams(re.findall(r"\w+", text.lower()), 3)


def characters(text):
    return grams("".join(text.split()).lower(), 5)


def is_duplicate(leitong, left, right):
    pages = "".join(json.dumps({"id": str(n), "text": text}) + "\n" for n, text in enumerate((left, right)))
    run = subprocess.run([leitong, "dedup", "-"], input=pages, capture_output=True, text=True, check=True)
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(verdicts) == 2, run.stdout
    return verdicts[1]["kind"] in ("EXACT_DUPLICATE", "NEAR_DUPLICATE")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clone")
    parser.add_argument("--half", choices=["a", "b"])
    parser.add_argument("--leitong", default="target/release/leitong")
    arguments = parser.parse_args()
    chosen = [p for p in pairs(arguments.clone) if arguments.half in (None, "ab"[hashlib.sha256(p[0].encode()).digest()[0] % 2])]
    with concurrent.futures.ThreadPoolExecutor() as threads:
        ours = list(threads.map(lambda pair: is_duplicate(arguments.leitong, *pair[2:]), chosen))
    methods = {
        "Leitong": ours,
        "Jaccard of word 3-grams ≥ .5": [jaccard(words(a), words(b)) >= 0.5 for _, _, a, b in chosen],
        "Jaccard of character 5-grams ≥ .8": [jaccard(characters(a), characters(b)) >= 0.8 for _, _, a, b in chosen],
    }
    labels = [label for _, label, _, _ in chosen]
    counts = ", ".join(f"{labels.count(label)} with label {label}" for label in sorted(set(labels)))
    print(f"{len(chosen)} pairs: {counts}")
    print()
    print("| | label ≥ 1: precision | recall | F1 | label ≥ 2: precision | recall | F1 |")
    print("|---|---|---|---|---|---|---|")
    for method, found in methods.items():
        cells = []
        for least in (1, 2):
            right = sum(is_found and label >= least for is_found, label in zip(found, labels))
            precision, recall = right / max(1, sum(found)), right / sum(label >= least for label in labels)
            cells += [precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0]
        print(f"| {method} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
