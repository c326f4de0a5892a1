#!/usr/bin/env python3
"""Fits the weights of the judge (`crates/fingerprint/src/detectors/simhash/near.rs`) on labelled pages.

usage: judge.py FINGERPRINTS.jsonl...      (needs numpy and scikit-learn)

Each file is one set, made by `cargo run --release --example fingerprints`. A pair of pages that share a key and are
within the distance is an example; it is a copy if both are of one cluster. Every pair occurs twice, with its addresses
and without. At most 2,500 pairs of a set are used, and a set weighs as the square root of its pairs. The table is made
with each set left out in turn: Single-Pass clustering with the first page of a cluster as its centre, scored as by
`score_verdicts.py`. The printed weights are those of all sets, in hundredths of a unit of the logarithm of the odds.
"""
import json
import os
import sys

import numpy as np
from sklearn.linear_model import LogisticRegression

SEED, PAIRS_MAX, LIKELIHOOD = 1, 2500, .6
DISTANCE_MAX, MATCHES_MIN, MATCHES_EXAMPLE = 20, 25, 14
UNKNOWN, PAGE, NAME, SITE, APART = range(5)
FEATURES = ["resemblance", "log2 size", "share of facts replaced", "share of numbers replaced", "share of topics replaced", "bits that differ", "one page", "one name", "one site", "different sites"]
SHORT, REPLACED, FACTS_PER_REPLACED = 500, 60, 16


def number(rows, begin, end, kind):
    return np.ascontiguousarray(rows[:, begin:end]).view(kind)


def replaced(bits, more, others):
    """Hundredths of facts that are replaced: see facts.rs."""
    differing = np.where(bits < 30, -3200 * np.log(1 - np.minimum(bits, 29) / 32), 10_000).astype(int)
    return np.where((bits == 0) & (more == 0), 100 * others, np.maximum(differing - 100 * more, 0) // 2)


def pairs(pages):
    """One row per pair of pages that a look-up can find: earlier page last."""
    rows = np.array([list(bytes.fromhex(p["fingerprint"])) for p in pages], dtype=np.uint8)
    simhash, size = number(rows, 0, 8, ">u8")[:, 0], number(rows, 8, 10, ">u2")[:, 0].astype(int)
    values = np.stack([rows[:, 10:42] & 15, rows[:, 10:42] >> 4], 2).reshape(len(rows), 64)
    facts = [number(rows, at, at + 8, ">u8")[:, 0] for at in (42, 54, 66)]
    counts = [number(rows, at, at + 2, ">u2")[:, 0].astype(int) for at in (50, 62, 74)]
    checksums = [number(rows, at, at + 2, ">u2")[:, 0] for at in (52, 64, 76)]
    site_and_name = number(rows, 78, 86, ">u8")[:, 0]
    site, name = site_and_name >> np.uint64(48), site_and_name & np.uint64((1 << 48) - 1)
    keys = number(rows, 90, 146, ">u4").reshape(len(rows), 14)
    found = []
    for i in range(1, len(rows)):
        distance = np.bitwise_count(simhash[:i] ^ simhash[i])
        key = ((keys[:i] == keys[i]) & (keys[i] != 0)).any(1) | (distance == 0)
        j = np.nonzero((distance <= DISTANCE_MAX) & key)[0]
        one_site, one_name = site[j] == site[i], name[j] == name[i]
        known = (site[j] != 0) & (name[j] != 0) & (site[i] != 0) & (name[i] != 0)
        relation = np.select([~known, one_site & one_name, one_name, one_site], [UNKNOWN, PAGE, NAME, SITE], APART)
        differing = [replaced(np.bitwise_count(f[j] ^ f[i]).astype(int), abs(n[j] - n[i]), c[j] != c[i]) for f, n, c in zip(facts, counts, checksums)]
        fewer = [np.minimum(n[j], n[i]) for n in counts]
        found.append(np.stack([
            np.full(len(j), i), j, distance[j], (values[j] == values[i]).sum(1), np.minimum(size[j], size[i]),
            np.maximum(size[j], size[i]), relation, *differing, *fewer,
        ], 1))
    return np.concatenate(found).astype(int).T


def features(pair, addresses):
    _, _, distance, matches, shorter, _, relation = pair[:7]
    relation = relation if addresses else np.zeros_like(relation)
    shares = [np.minimum(differing / 100 / np.maximum(fewer, 1), 1) for differing, fewer in zip(pair[7:10], pair[10:])]
    return np.stack([
        np.maximum(matches * 16 - 64, 0) / 960, np.log2(np.clip(shorter, 1, 3000)), *shares, distance,
        relation == PAGE, relation == NAME, relation == SITE, relation == APART,
    ], 1).astype(float)


def allowed(pair, addresses):
    """What near.rs requires whatever the judge says."""
    _, _, _, matches, shorter, longer, relation, facts, numbers, topics, fewer, _, _ = pair
    relation = relation if addresses else np.zeros_like(relation)
    return ((matches >= np.where(relation == PAGE, MATCHES_MIN - 6, MATCHES_MIN)) & (2 * shorter >= longer)
            & ((relation == PAGE) | ~(
                (shorter < SHORT) & (numbers >= REPLACED) | (relation == SITE) & (
                    (topics >= REPLACED) & (shorter < 3000) | (facts >= np.maximum(REPLACED, 100 * fewer // FACTS_PER_REPLACED))))))


def score(pages, pair, near):
    """Precision, recall, F1, false duplicates."""
    by_page = {}
    for at in np.nonzero(near)[0]:
        by_page.setdefault(pair[0, at], []).append((0 if pair[2, at] == 0 else 64 * (65 - pair[3, at]) + pair[2, at], pair[1, at]))
    founders, right, false, dups = set(), 0, 0, 0
    for i, page in enumerate(pages):
        best = min((c for c in by_page.get(i, ()) if c[1] in founders), default=None)
        if best is None:
            founders.add(i)
        if page["label"] == "ambiguous":
            continue
        good = best is not None and pages[best[1]]["cluster"] == page["cluster"]
        dups += page["label"] == "dup"
        right += good and page["label"] == "dup"
        false += best is not None and not good
    precision, recall = right / max(right + false, 1), right / max(dups, 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9), false


def fit(sets):
    x, y, w = [], [], []
    for pages, pair in sets:
        scored = np.array([p["label"] != "ambiguous" for p in pages])
        usable = np.nonzero(scored[pair[0]] & scored[pair[1]] & (pair[3] >= MATCHES_EXAMPLE))[0]
        if len(usable) > PAIRS_MAX:
            usable = np.random.default_rng(SEED).choice(usable, PAIRS_MAX, replace=False)
        copy = np.array([pages[i]["cluster"] == pages[j]["cluster"] for i, j in pair[:2, usable].T])
        for addresses in (False, True):
            x.append(features(pair[:, usable], addresses))
            y.append(copy)
            w.append(np.full(len(usable), max(len(usable), 1) ** -.5))
    x, y, w = np.concatenate(x), np.concatenate(y), np.concatenate(w)
    mean, deviation = x.mean(0), x.std(0) + 1e-9
    model = LogisticRegression(max_iter=2000).fit((x - mean) / deviation, y, sample_weight=w / w.mean())
    weights = model.coef_[0] / deviation
    return weights, model.intercept_[0] - weights @ mean - np.log(LIKELIHOOD / (1 - LIKELIHOOD))


def main(paths):
    sets = {}
    for path in paths:
        pages = [p for p in map(json.loads, open(path, encoding="utf-8")) if p["fingerprint"]]
        sets[os.path.basename(path).removesuffix(".jsonl")] = pages, pairs(pages)
    print("| set, left out | without addresses: precision | recall | F1 | false | with: precision | recall | F1 | false |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, (pages, pair) in sets.items():
        weights, constant = fit([s for other, s in sets.items() if other != name])
        cells = [score(pages, pair, allowed(pair, a) & (features(pair, a) @ weights + constant >= 0)) for a in (False, True)]
        print(f"| `{name}` |", " | ".join("%.3f | %.3f | %.3f | %d" % cell for cell in cells), "|", flush=True)
    weights, constant = fit(list(sets.values()))
    print()
    for name, weight in zip(FEATURES, weights):
        print(f"{name}: {100 * (weight + (constant if name.startswith(('one', 'different')) else 0)):.0f}")
    print(f"not known: {100 * constant:.0f}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
