#!/usr/bin/env python3
"""Learn the weights of src/extract/weights.rs from pages whose main text is known.

usage: train.py halves FACTS_DIR            learn on each half of the pages, score the other, with intervals
       train.py write FACTS_DIR WEIGHTS.rs  learn on all pages and write the tables

FACTS_DIR holds, for each set S, `S.pages.jsonl[.gz]` (id, lang, gold_text, html…) and `S.facts.jsonl`, the output
of `cargo run --release --example extraction_facts` for these pages. Needs numpy, rapidfuzz and catboost.

A block's label comes from aligning the words (characters for Chinese) of all blocks with those of the gold text
(longest common subsequence): it is main text if over half of it is matched. A block weighs in learning what it
weighs in its page's F1: its length by the gold text's. The second weighing learns from likelihoods that the
first one gives to pages that it has not seen (5 folds), so that it does not trust it too much.
"""
import collections
import gzip
import hashlib
import json
import math
import pathlib
import re
import sys

import numpy as np
from catboost import CatBoostClassifier, Pool
from rapidfuzz.distance import LCSseq

SCORED = ["extract_zh_articles", "extract_en_articles", "extract_en_cleaneval", "extract_en_mixed"]
# How much each set counts in learning: small sets more, hand-made templates and forums less.
SET_WEIGHT = {"extract_zh_articles": 2.0, "extract_en_cleaneval": 2.0, "extract_en_mixed": 1.3, "pages_zh_gne": 2.0,
              "forums": 0.5, "short": 0.5, "samples": 0.5, "templates": 0.5}
TABLES, DEPTH, RATE = 260, 6, 0.05
CONTEXT_COLUMNS = 24
CJK = ("zh", "ja", "ko")


def lines(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle if line.strip())


def units(text, lang):
    return list("".join(text.split())) if lang.split("-")[0] in CJK else re.findall(r"\w+", text.lower())


def grams(text, lang):
    n, found = (5 if lang.split("-")[0] in CJK else 4), units(text, lang)
    return collections.Counter(tuple(found[i:i + n]) for i in range(max(1, len(found) - n + 1))) if found else collections.Counter()


def f1(text, gold, lang):
    got = grams(text, lang)
    both = sum((gold & got).values())
    return 2 * both / (sum(got.values()) + sum(gold.values())) if both else 0.0


def labels(texts, gold, lang):
    numbers = {}
    code = lambda words: [numbers.setdefault(word, len(numbers)) for word in words]
    blocks = [code(units(text, lang)) for text in texts]
    page, owner = [w for b in blocks for w in b], [i for i, b in enumerate(blocks) for _ in b]
    target, hits = code(units(gold, lang)), np.zeros(len(texts))
    for step in LCSseq.opcodes(page, target) if page and target else []:
        at = step.src_start
        while step.tag == "equal" and at < step.src_end:
            end = at
            while end < step.src_end and owner[end] == owner[at]:
                end += 1
            # Single words that happen to match say nothing.
            if end - at >= min(3, len(blocks[owner[at]])):
                hits[owner[at]] += end - at
            at = end
    return hits / np.array([max(1, len(block)) for block in blocks])


def load(folder):
    pages, names = [], None
    for facts in sorted(pathlib.Path(folder).glob("*.facts.jsonl")):
        name = facts.name.split(".")[0]
        source = next(p for p in (facts.with_name(f"{name}.pages.jsonl.gz"), facts.with_name(f"{name}.pages.jsonl")) if p.exists())
        gold = {page["id"]: page for page in lines(source) if page.get("gold_text")}
        rows = lines(facts)
        names = next(rows)
        for row in rows:
            if row["id"] not in gold:
                continue
            lang = gold[row["id"]].get("lang") or "en"
            page = dict(id=row["id"], set=name, lang=lang, text=row["text"], gold=grams(gold[row["id"]]["gold_text"], lang))
            page["facts"] = np.array(row["facts"], np.int32).reshape(len(row["text"]), len(names))
            page["rings"], page["section"], page["kin"] = (np.array(row[k], int) for k in ("rings", "section", "kin"))
            page["label"] = labels(row["text"], gold[row["id"]]["gold_text"], lang) > 0.5
            size = np.array([max(1, len(units(text, lang))) for text in row["text"]], float)
            page["weight"] = np.minimum(size / max(50, sum(page["gold"].values())), 1) * SET_WEIGHT.get(name, 1.0)
            pages.append(page)
    return names, pages


def context(page, likelihoods):
    """The columns of src/extract/context.rs, in the same integers."""
    n = len(likelihoods)
    if not n:
        return np.zeros((0, CONTEXT_COLUMNS), np.int32)
    s, size = np.rint(likelihoods * 1000).astype(np.int64), np.clip(page["facts"][:, 0].astype(np.int64), 1, 1500)
    mass, at = s * size, np.arange(n)
    sums, sizes = np.concatenate([[0], np.cumsum(mass)]), np.concatenate([[0], np.cumsum(size)])
    div = lambda a, b: np.where(b > 0, a // np.maximum(b, 1), 0)

    def mean(a, b):
        a, b = np.clip(a, 0, n), np.clip(b, 0, n)
        return div(sums[b] - sums[a], sizes[b] - sizes[a])

    def near(k):
        out = np.zeros(n, np.int64)
        if abs(k) < n:
            out[max(0, -k):n - max(0, k)] = s[max(0, k):n - max(0, -k)]
        return out

    def without_own(weight, total):
        return np.where(weight > size, div(total - mass, weight - size), s)

    def around(a, b):
        return without_own(sizes[b] - sizes[a], sums[b] - sums[a])

    kin_size, kin_mass = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    np.add.at(kin_size, page["kin"], size)
    np.add.at(kin_mass, page["kin"], mass)
    total = sums[-1]
    columns = [s, near(-1), near(1), near(-2), near(2), mean(at - 3, at), mean(at + 1, at + 4), mean(at - 8, at),
               mean(at + 1, at + 9), mean(at - 20, at), mean(at + 1, at + 21)]
    columns += [around(page["rings"][:, ring, 0], page["rings"][:, ring, 1]) for ring in range(4)]
    columns += [without_own(kin_size[page["kin"]], kin_mass[page["kin"]]),
                sums[:-1] * 1000 // total if total else np.zeros(n, np.int64), np.full(n, total // sizes[-1]),
                np.full(n, min(30000, total // 1000)), np.full(n, s.max()), np.maximum.accumulate(s),
                np.maximum.accumulate(s[::-1])[::-1], s[page["section"][:, 0]],
                around(page["section"][:, 0], page["section"][:, 1])]
    return np.stack(columns, 1).astype(np.int32)


def learn(pages, facts):
    model = CatBoostClassifier(iterations=TABLES, depth=DEPTH, learning_rate=RATE, l2_leaf_reg=3, rsm=0.5, border_count=64,
                               bootstrap_type="Bernoulli", subsample=0.7, random_seed=1, thread_count=2, verbose=0,
                               allow_writing_files=False)
    weights = np.maximum(np.concatenate([page["weight"] for page in pages]), 1e-6)
    return model.fit(Pool(np.concatenate(facts), np.concatenate([page["label"] for page in pages]).astype(int), weight=weights))


def likely(model, facts):
    return model.predict_proba(facts)[:, 1] if len(facts) else np.zeros(0)


def number(page, salt=""):
    # A shortened page stays with the page that it comes from.
    return int(hashlib.md5((salt + page["id"].split("~")[0]).encode()).hexdigest(), 16)


def learn_both(pages, folds=5):
    first = [None] * len(pages)
    for fold in range(folds):
        rest = [page for page in pages if number(page, "i") % folds != fold]
        model = learn(rest, [page["facts"] for page in rest])
        for at, page in enumerate(pages):
            if number(page, "i") % folds == fold:
                first[at] = likely(model, page["facts"])
    full = [np.concatenate([page["facts"], context(page, s)], 1) for page, s in zip(pages, first)]
    return learn(pages, [page["facts"] for page in pages]), learn(pages, full)


def choose(page, models, names):
    """The blocks that src/extract/select.rs chooses."""
    first = likely(models[0], page["facts"])
    s = likely(models[1], np.concatenate([page["facts"], context(page, first)], 1))
    size, comment = page["facts"][:, 0].astype(float), page["facts"][:, names.index("InComment")] > 0

    def best(s):
        if not len(s):
            return np.zeros(0, bool)
        order = np.argsort(-s)
        hit, chosen = np.cumsum((s * size)[order]), np.cumsum(size[order])
        keep = np.zeros(len(s), bool)
        keep[order[:np.argmax(2 * hit / (chosen + (s * size).sum())) + 1]] = True
        return keep & (s > 0.06)

    keep = best(s)
    of_comments = size * keep * comment
    if (size * keep * ~comment).sum() >= 200 and 0 < of_comments.sum() and (of_comments * s).sum() < 0.72 * of_comments.sum():
        keep = best(np.where(comment, 0, s))
    return keep


def interval(values, rounds=2000):
    rng = np.random.default_rng(1)
    means = np.sort(rng.choice(values, (rounds, len(values))).mean(1))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


def halves(names, pages):
    scores = collections.defaultdict(lambda: ([], []))
    for half in (0, 1):
        models = learn_both([page for page in pages if number(page) % 2 != half])
        for page in pages:
            if number(page) % 2 == half:
                keep = choose(page, models, names)
                text = "\n".join(t for t, k in zip(page["text"], keep) if k)
                scores[page["set"]][half].append(f1(text, page["gold"], page["lang"]))
    for name, (even, odd) in scores.items():
        low, high = interval(np.array(even + odd))
        print(f"{name:22} {len(even + odd):4} pages  even {np.mean(even):.3f}  odd {np.mean(odd):.3f}  "
              f"both {np.mean(even + odd):.3f}  95 % interval {low:.3f} to {high:.3f}")


def tables(model):
    path = pathlib.Path("/tmp/leitong-tables.json")
    model.save_model(str(path), format="json")
    saved = json.loads(path.read_text())
    path.unlink()
    scale, bias = saved["scale_and_bias"]
    flat = {f["feature_index"]: f["flat_feature_index"] for f in saved["features_info"]["float_features"]}
    short = lambda value: max(-32768, min(32767, value))
    out = []
    for tree in saved["oblivious_trees"]:
        questions = [(flat[split["float_feature_index"]], short(math.floor(split["border"]))) for split in tree["splits"] or []]
        weights = [short(round(value * scale * 1000)) for value in tree["leaf_values"]]
        while len(questions) < DEPTH:
            questions.append((0, 32767))
            weights += [0] * len(weights)
        out.append(f"    Table {{ questions: {questions}, weights: {weights} }},\n")
    return round((bias[0] if isinstance(bias, list) else bias) * 1000), out


def write(names, pages, path):
    assert len(names) + CONTEXT_COLUMNS <= 256, "a column's number must fit a byte"
    logistic = [round(1000 / (1 + math.exp(-((i - 120) * 0.05 + 0.025)))) for i in range(240)]
    text = f'''//! Weights of the decision tables. Generated by `tools/extraction/train.py`; do not edit.
//!
//! Learned from {len(pages)} pages; `docs/extraction.md` says which, and how well half of them teach the other half.

/// Questions a table asks.
pub(super) const DEPTH: usize = {DEPTH};

/// One decision table.
#[derive(Debug)]
pub(super) struct Table {{
    /// Column of a fact, and the value that it must be above for a 1.
    pub(super) questions: [(u8, i16); DEPTH],
    /// Thousandths of log-odds, by the answers' bits, the first question's lowest.
    pub(super) weights: [i16; 1 << DEPTH],
}}

/// The logistic function in thousandths, for every 50 thousandths of log-odds from -6 to 6.
#[rustfmt::skip]
pub(super) static LIKELIHOODS: [u16; 240] = {logistic};
'''
    for place, which, model in zip((1, 2), ("first", "second"), learn_both(pages)):
        bias, rows = tables(model)
        text += f"\n/// What the {which} weighing starts from.\npub(super) const BIAS_{place}: i32 = {bias};\n"
        text += f"\n/// The {which} weighing.\n#[rustfmt::skip]\npub(super) static TABLES_{place}: [Table; {len(rows)}] = [\n{''.join(rows)}];\n"
    pathlib.Path(path).write_text(text)


if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1] == "halves":
        halves(*load(sys.argv[2]))
    elif len(sys.argv) == 4 and sys.argv[1] == "write":
        write(*load(sys.argv[2]), sys.argv[3])
    else:
        raise SystemExit(__doc__)
