#!/usr/bin/env python3
"""Learn the weights in crates/text/src/extract/main_text/score/trees from pages whose main text is known.

usage: train.py folds WRITING FEATURES_DIR [SCORES.json]   score each fifth of the pages with weights learned on the other four
       train.py ablate WRITING FEATURES_DIR             the same with the first scoring only, leaving out each group of features in turn
       train.py write WRITING FEATURES_DIR WEIGHTS.bin  learn on all pages and write the tables

WRITING is `alphabets` or `east-asian`. Weights for alphabetic pages are learned from such pages; those for Chinese,
Japanese and Korean pages from all pages except extract_en_wcxb, since there are few of their own.
FEATURES_DIR holds, for each set S, `S.pages.jsonl[.gz]` (id, lang, gold_text, html…) and `S.features.jsonl`, the output
of `cargo run --release --example extraction_features` for these pages. Needs numpy, rapidfuzz and catboost.

A block's label comes from aligning the words (characters for Chinese) of all blocks with those of the gold text
(longest common subsequence): the matched share for alphabets; for East Asian pages, whether it is over half.
A block's weight in learning is its weight in its page's F1: its length relative to the gold text. The second scoring
learns from probabilities that the first one gives to unseen pages (5 folds), so it does not trust them too much.
Those first scorings have seen other pages of the fold that is scored; avoiding that would take five times as long. A
page in both extract_en_mixed and extract_en_wcxb is learned from once. Pages of extract_en_wcxb are scored by the F1 of
words, the measure of that benchmark, and by type.

Folds never split a site: pages of one host, pages with the same gold, a page and its variants stay together. Variants
are learned from, never scored. Short blocks, which have little weight and are many, are sampled: one in 20, heavier ones
more often, with their weights raised accordingly. GROUPS lists the groups of features that `ablate` leaves out; it
needs many runs, so it leaves out the variants as well.
"""
import collections
import dataclasses
import gzip
import hashlib
import itertools
import json
import math
import pathlib
import re
import struct
import sys
import urllib.parse

import numpy as np
from catboost import CatBoostClassifier, Pool
from rapidfuzz.distance import LCSseq


@dataclasses.dataclass(frozen=True)
class Settings:
    """Settings of the learning, and constants of crates/text/src/extract/main_text/score/trees/mod.rs."""
    tables: tuple
    rate: float
    # The second scoring is the mean of this many models learned separately.
    seconds: int
    # All blocks of at least this weight are learned from, and at least this share of the others.
    always: float
    seldom: float
    # The label is the share of the block that is main text, not whether that is over half.
    shares: bool
    comments_min: float
    # True drops blocks that both names and words call boilerplate.
    named_out: bool


SETTINGS = {
    "alphabets": Settings((140, 280), 0.08, 2, 0.1, 0.03, True, 0.60, True),
    "east-asian": Settings((200, 300), 0.055, 2, 0.05, 0.05, False, 0.72, False),
}
SCORED = ["extract_zh_articles", "extract_en_articles", "extract_en_cleaneval", "extract_en_mixed", "extract_en_wcxb"]
# Weight of each set in learning: small sets more, hand-made templates and forums less.
SET_WEIGHT = {"extract_zh_articles": 3.0, "extract_en_cleaneval": 2.0, "extract_en_mixed": 1.3, "pages_zh_gne": 3.0, "extract_en_wcxb": 1.0,
              "forums": 0.5, "short": 0.5, "samples": 0.5, "templates": 0.5, "sites": 0.5, "variants": 0.4, "feed": 0.2}
# Weight of a page renamed by names.py, relative to the page itself.
RENAMED_WEIGHT = 0.3
# Sets made of single paragraphs of the others: features contain no words, so they may be on either side of a fold.
MADE = ("forums", "sites")
DEPTH, FOLDS = 6, 5
GROUPS = {
    "described": "Described.*|.*Anchor|Anchor.*|PageDescribed|PageBody",
    "candidates": "Article[NTA].*|InReadable|Readable.*|InNamed|NamedText|Title(Up|Text)",
    "names": "Hint.*|Boilerplate.*|Content(Share|Count)|Near(Hints|Content)|InNamed|NamedText",
    "phrases": "Phrase.*|Section(Related|Comment|Account|Shop|Share)|PageShopPhrases|PageDates",
    "enclosing": "Ancestor.*|Similar.*|InBest.*|Best.*|FromBestStart|ToBestEnd|Section(Bytes|Links|Text|Blocks|Level)",
    "neighbours": "Previous.*|Next.*|Around.*|BeforeText|AfterText|SinceHeading|ToHeading",
    "page": "Page.*",
}
CONTEXT_COLUMNS = 24
# Lines that crates/text/src/extract/main_text/features/block.rs keeps out.
CREDIT = re.compile(r"(?i:by:?|written by)\s+[A-Z]|作者[：:]|文[/／]|来源[：:]|责任编辑|责编|编辑[：:]|记者[：:]|稿源")
CJK = ("zh", "ja", "ko")
# What crates/text/src/extract/main_text/score/writing.rs counts.
SYLLABLE, LETTER = re.compile("[\u3000-\udfff]"), re.compile(r"[^\W\d_]")


def lines(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle if line.strip())


def units(text, lang):
    return list("".join(text.split())) if lang.split("-")[0] in CJK else re.findall(r"\w+", text.lower())


def grams(text, lang):
    n, found = (5 if lang.split("-")[0] in CJK else 4), units(text, lang)
    return collections.Counter(tuple(found[i:i + n]) for i in range(max(1, len(found) - n + 1))) if found else collections.Counter()


def words(text):
    return collections.Counter(re.findall(r"\w+", text.lower()))


def f1(got, gold):
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
            # Single words that match by chance mean nothing.
            if end - at >= min(3, len(blocks[owner[at]])):
                hits[owner[at]] += end - at
            at = end
    return hits / np.array([max(1, len(block)) for block in blocks])


def is_east_asian(texts):
    syllables = sum(len(SYLLABLE.findall(text)) for text in texts)
    letters = sum(len(LETTER.findall(text)) for text in texts)
    return syllables > 0 and 300 * syllables >= letters + 2 * syllables


def load(writing, folder):
    settings, pages, names, own = SETTINGS[writing], [], None, {}
    # Renamed pages come last, since they are compared with the pages themselves.
    for features in sorted(pathlib.Path(folder).glob("*.features.jsonl"), key=lambda path: (path.name.startswith("renamed"), path)):
        name = features.name.split(".")[0]
        source = next(p for p in (features.with_name(f"{name}.pages.jsonl.gz"), features.with_name(f"{name}.pages.jsonl")) if p.exists())
        gold = {page["id"]: page for page in lines(source) if page.get("gold_text")}
        rows = lines(features)
        names = next(rows)
        for row in rows:
            if row["id"] not in gold:
                continue
            lang = gold[row["id"]].get("lang") or "en"
            east_asian = is_east_asian(row["text"])
            if writing == "alphabets" and east_asian or writing == "east-asian" and name == "extract_en_wcxb":
                continue
            of = gold[row["id"]].get("of")
            if writing == "east-asian" and of == "extract_en_wcxb":
                continue
            page = dict(id=row["id"], set=name, of=of, type=gold[row["id"]].get("page_type"), scored=east_asian == (writing == "east-asian"), url=gold[row["id"]].get("url"), lang=lang, text=row["text"])
            before = own.get(row["id"].split("~")[0]) if of else None
            page["gold"] = before["gold"] if before else grams(gold[row["id"]]["gold_text"], lang)
            page["words"] = before["words"] if before else words(gold[row["id"]]["gold_text"])
            page["features"] = np.array(row["features"], np.int16).reshape(len(row["text"]), len(names))
            page["credit_line"] = np.array([len(text.encode()) <= 70 and bool(CREDIT.match(text)) for text in row["text"]], bool)
            page["ancestor_ranges"], page["section"], page["similar"] = (np.array(row[k], int) for k in ("ancestor_ranges", "section", "similar"))
            if before and before["text"] == row["text"]:
                page["label"] = before["label"]
            else:
                shares = labels(row["text"], gold[row["id"]]["gold_text"], lang)
                page["label"] = np.minimum(shares, 1) if settings.shares else (shares > 0.5).astype(float)
            own.setdefault(row["id"], page)
            size = np.array([max(1, len(units(text, lang))) for text in row["text"]], float)
            weight = SET_WEIGHT.get("feed" if row["id"].endswith("~feed") else name, 1.0)
            if of:
                weight = RENAMED_WEIGHT * SET_WEIGHT.get(of, 1.0)
            page["weight"] = np.minimum(size / max(50, sum(page["gold"].values())), 1) * weight
            pages.append(page)
    group(pages)
    again = {page["id"] for page in pages if page["set"] == "extract_en_wcxb"}
    for page in pages:
        page["learned"] = page["set"] != "extract_en_mixed" or page["id"] not in again
    return settings, names, pages + misnamed(pages, names)


# Hints that count against text, among BOILERPLATE of crates/text/src/extract/parse/hints.rs (`strong` in features/block.rs).
AGAINST = {0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 18, 26, 27, 28}
COMMENT, HINTS = 4, 31


def misname(page, names, seed):
    """Returns the features of `page` as if three parts of its text had one word more or less among their names."""
    chance = np.random.default_rng(number(page["id"], f"misname{seed}") % 2**32)
    features, at = page["features"].copy(), {name: column for column, name in enumerate(names)}
    size = page["features"][:, at["Bytes"]].astype(float)
    mass = size * (page["label"] + 0.05)
    if mass.sum() <= 0:
        return features
    for block in chance.choice(len(size), 3, p=mass / mass.sum()):
        first, end = page["ancestor_ranges"][block, chance.integers(4)]
        chosen = np.zeros(len(size), bool)
        chosen[first:end] = True
        if chance.random() < 0.5:
            chosen = page["similar"] == page["similar"][block]
        share = size[chosen].sum() / size.sum()
        hint = int(chance.integers(HINTS))
        # A boilerplate name is ignored on a part that holds most of the text.
        if hint in AGAINST and hint != COMMENT and share > 0.6:
            continue
        features[chosen, at["Hint0"] + hint] = chance.random() < 0.85
        if hint in AGAINST:
            features[chosen, at["NearHints"]] |= 1 << int(chance.integers(3))
            features[chosen, at["BoilerplateCount"]] += 1
            features[chosen, at["BoilerplateShare"]] = np.maximum(features[chosen, at["BoilerplateShare"]], int(1000 * share))
        if hint == COMMENT:
            features[chosen, at["InComment"]] = 1
    return features


def misnamed(pages, names, seed=0):
    """Returns copies of the pages that are learned from, each with misleading names."""
    real = [page for page in pages if page["set"] in SET_WEIGHT and not page["of"] and page["set"] != "variants"]
    return [page | dict(features=misname(page, names, seed), of=page["set"], id=f"{page['id']}~misnamed", weight=page["weight"] * RENAMED_WEIGHT) for page in real]


def group(pages):
    """Assigns each page to a group that is never split: its site, and sites with which it shares a gold text."""
    above, owners = {}, collections.defaultdict(set)

    def top(name):
        while above.get(name, name) != name:
            name = above[name]
        return name

    for page in pages:
        host = urllib.parse.urlparse(page["url"] or "").netloc.lower().split(":")[0].split(".")
        size = 3 if len(host) > 2 and len(host[-1]) == 2 and host[-2] in ("co", "com", "org", "gov", "net", "ac", "edu") else 2
        host = ".".join(host[-size:])
        page["group"] = page["id"].split("~")[0] if host in ("", "example.test") else host
        for gram in list(page["gold"])[:400] if page["set"] not in MADE and not page["of"] else ():
            owners[gram].add(page["group"])
    shared = collections.Counter(pair for groups in owners.values() if 1 < len(groups) < 6 for pair in itertools.combinations(sorted(groups), 2))
    for (one, other), count in shared.items():
        if count > 60:
            above[top(one)] = top(other)
    for page in pages:
        page["fold"] = number(top(page["group"]), "cv") % FOLDS


def context(page, probabilities):
    """Returns the columns of crates/text/src/extract/main_text/features/context.rs, in the same integers."""
    n = len(probabilities)
    if not n:
        return np.zeros((0, CONTEXT_COLUMNS), np.int32)
    s, size = np.rint(probabilities * 1000).astype(np.int64), np.clip(page["features"][:, 0].astype(np.int64), 1, 1500)
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

    similar_size, similar_mass = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    np.add.at(similar_size, page["similar"], size)
    np.add.at(similar_mass, page["similar"], mass)
    total = sums[-1]
    columns = [s, near(-1), near(1), near(-2), near(2), mean(at - 3, at), mean(at + 1, at + 4), mean(at - 8, at),
               mean(at + 1, at + 9), mean(at - 20, at), mean(at + 1, at + 21)]
    columns += [around(page["ancestor_ranges"][:, ring, 0], page["ancestor_ranges"][:, ring, 1]) for ring in range(4)]
    columns += [without_own(similar_size[page["similar"]], similar_mass[page["similar"]]),
                sums[:-1] * 1000 // total if total else np.zeros(n, np.int64), np.full(n, total // sizes[-1]),
                np.full(n, min(30000, total // 1000)), np.full(n, s.max()), np.maximum.accumulate(s),
                np.maximum.accumulate(s[::-1])[::-1], s[page["section"][:, 0]],
                around(page["section"][:, 0], page["section"][:, 1])]
    return np.stack(columns, 1).astype(np.int32)


def learn(settings, pages, features, tables, without=(), seed=1):
    model = CatBoostClassifier(iterations=tables, depth=DEPTH, learning_rate=settings.rate, l2_leaf_reg=3, rsm=0.3, border_count=48,
                               bootstrap_type="Bernoulli", subsample=0.7, random_seed=seed, thread_count=2, verbose=0,
                               ignored_features=list(without), allow_writing_files=False,
                               loss_function="CrossEntropy" if settings.shares else "Logloss")
    weights = np.concatenate([page["weight"] for page in pages])
    chance = np.minimum(weights / settings.always + settings.seldom, 1)
    kept = np.random.default_rng(5).random(len(weights)) < chance
    labels = np.concatenate([page["label"] for page in pages])
    return model.fit(Pool(np.concatenate(features)[kept], labels[kept], weight=np.maximum(weights / chance, 1e-6)[kept]))


def log_odds(models, features):
    return np.mean([model.predict(features, prediction_type="RawFormulaVal") for model in models], 0)


def likely(models, features):
    return 1 / (1 + np.exp(-log_odds(models, features))) if len(features) else np.zeros(0)


def number(text, salt=""):
    return int(hashlib.md5((salt + text).encode()).hexdigest(), 16)


class Learner:
    """Both scorings, learned without one fold or with all; first scorings are kept, since several runs share them."""

    def __init__(self, settings, pages, without=()):
        self.settings, self.pages, self.without, self.kept = settings, pages, without, {}

    def rest(self, fold):
        return [page for page in self.pages if page["fold"] != fold and page["learned"]]

    def first(self, fold=None):
        if fold not in self.kept:
            rest = self.rest(fold)
            features = [page["features"] for page in rest]
            self.kept[fold] = [learn(self.settings, rest, features, self.settings.tables[0], self.without)]
        return self.kept[fold]

    def both(self, fold=None):
        rest = self.rest(fold)
        first = [likely(self.first(page["fold"]), page["features"]) for page in rest]
        full = [np.concatenate([page["features"], context(page, s)], 1) for page, s in zip(rest, first)]
        seeds = range(1, self.settings.seconds + 1)
        return self.first(fold), [learn(self.settings, rest, full, self.settings.tables[1], self.without, seed) for seed in seeds]


def choose(settings, page, models, names):
    """Returns the blocks that crates/text/src/extract/main_text/select.rs chooses."""
    s = likely(models[0], page["features"])
    if len(models) > 1:
        s = likely(models[1], np.concatenate([page["features"], context(page, s)], 1))
    size, comment = page["features"][:, 0].astype(float), page["features"][:, names.index("InComment")] > 0
    announced = page["features"][:, names.index("DescribedCover")] >= 500
    least = 0.45 if (announced & (s >= 0.55)).any() else 0.06

    column = lambda name: page["features"][:, names.index(name)] > 0
    s = np.where(column("InTitle") & column("InHeading") | page["credit_line"], 0, s)
    if settings.named_out:
        short = size < 60
        share = column("Hint6") & short & (column("Phrase2") | column("SectionShare"))
        related = column("Hint5") & (short & column("Phrase3") | column("SectionRelated"))
        s = np.where(share | related, 0, s)

    def best(s):
        if not len(s):
            return np.zeros(0, bool)
        order = np.argsort(-s)
        hit, chosen = np.cumsum((s * size)[order]), np.cumsum(size[order])
        keep = np.zeros(len(s), bool)
        keep[order[:np.argmax(2 * hit / (chosen + (s * size).sum())) + 1]] = True
        return keep & (s >= least)

    keep = best(s)
    of_comments = size * keep * comment
    if (size * keep * ~comment).sum() >= 200 and 0 < of_comments.sum() and (of_comments * s).sum() < settings.comments_min * of_comments.sum():
        keep = best(np.where(comment, 0, s))
    return keep


def interval(values, rounds=2000):
    rng = np.random.default_rng(1)
    means = np.sort(rng.choice(values, (rounds, len(values))).mean(1))
    return means[int(rounds * 0.025)], means[int(rounds * 0.975)]


def folds(settings, names, pages, path):
    learner, scores, by_page = Learner(settings, pages), collections.defaultdict(list), {}
    for fold in range(FOLDS):
        models, texts = learner.both(fold), {}
        for page in pages:
            made = page["set"] == "variants" or page["id"].endswith(("~names", "~ru", "~ar", "~ko"))
            if page["fold"] == fold and page["scored"] and not made:
                text = chosen_text(settings, page, models, names)
                if page["of"]:
                    # The same text should be found whatever the names.
                    own, kind = page["id"].split("~")
                    same = f1(grams(text, page["lang"]), grams(texts[own], page["lang"]))
                    scores[f"~{kind} {page['of']}"].append(score(text, page))
                    scores[f"~{kind} same {page['of']}"].append(same)
                    continue
                texts[page["id"]] = text
                by_page[f"{page['set']} {page['id']}"] = score(text, page)
                for part in [page["set"]] + ([f"  {page['type']}"] if page["set"] == "extract_en_wcxb" else []):
                    scores[part].append(by_page[f"{page['set']} {page['id']}"])
    for name, values in sorted(scores.items()):
        low, high = interval(np.array(values))
        print(f"{name:22} {len(values):4} pages  {np.mean(values):.3f}  95 % interval {low:.3f} to {high:.3f}")
    if path:
        path.write_text(json.dumps(by_page))


def ablate(settings, names, pages):
    pages = [page for page in pages if page["set"] != "variants"]
    for group in [None, *GROUPS]:
        pattern = re.compile(GROUPS[group] if group else "$^")
        learner = Learner(settings, pages, [at for at, name in enumerate(names) if pattern.fullmatch(name)])
        scores = collections.defaultdict(list)
        for fold in range(FOLDS):
            model = learner.first(fold)
            for page in pages:
                if page["fold"] == fold and page["scored"] and page["set"] in SCORED:
                    scores[page["set"]].append(score(chosen_text(settings, page, [model], names), page))
        print(f"without {group or 'nothing':12}", *(f"{name} {np.mean(values):.3f}" for name, values in sorted(scores.items())), flush=True)


def chosen_text(settings, page, models, names):
    return "\n".join(t for t, k in zip(page["text"], choose(settings, page, models, names)) if k)


def score(text, page):
    if "extract_en_wcxb" in (page["set"], page["of"]):
        return f1(words(text), page["words"])
    return f1(grams(text, page["lang"]), page["gold"])


def tables(models):
    both = [tables_of(model, 1 / len(models)) for model in models]
    return sum(bias for bias, _ in both), [row for _, rows in both for row in rows]


def tables_of(model, share):
    path = pathlib.Path("/tmp/leitong-tables.json")
    model.save_model(str(path), format="json")
    saved = json.loads(path.read_text())
    path.unlink()
    scale, bias = saved["scale_and_bias"]
    scale = scale * share
    flat = {f["feature_index"]: f["flat_feature_index"] for f in saved["features_info"]["float_features"]}
    short = lambda value: max(-32768, min(32767, value))
    out = []
    for tree in saved["oblivious_trees"]:
        questions = [(flat[split["float_feature_index"]], short(math.floor(split["border"]))) for split in tree["splits"] or []]
        weights = [short(round(value * scale * 1000)) for value in tree["leaf_values"]]
        while len(questions) < DEPTH:
            questions.append((0, 32767))
            weights += [0] * len(weights)
        out.append(b"".join(struct.pack("<Bh", *question) for question in questions) + struct.pack(f"<{2**DEPTH}h", *weights))
    return round((bias[0] if isinstance(bias, list) else bias) * share * 1000), out


def write(writing, settings, names, pages, path):
    assert len(names) + CONTEXT_COLUMNS <= 256, "a column's number must fit a byte"
    text = b""
    for model in Learner(settings, pages).both():
        bias, rows = tables(model)
        text += struct.pack("<iH", bias, len(rows)) + b"".join(rows)
    pathlib.Path(path).write_bytes(text)
    print(f"learned from {sum(page['learned'] and not page['of'] for page in pages)} pages, and from renamed forms of them")


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or [None]
    if not rest or rest[0] not in SETTINGS:
        raise SystemExit(__doc__)
    if what == "folds" and len(rest) in (2, 3):
        folds(*load(*rest[:2]), pathlib.Path(rest[2]) if len(rest) == 3 else None)
    elif what == "ablate" and len(rest) == 2:
        ablate(*load(*rest))
    elif what == "write" and len(rest) == 3:
        write(rest[0], *load(*rest[:2]), rest[2])
    else:
        raise SystemExit(__doc__)
