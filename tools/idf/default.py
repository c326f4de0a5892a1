#!/usr/bin/env python3
"""Make the built-in IDF table, crates/fingerprint/src/idf/default.tsv.

usage: tools/idf/default.py JIEBA_IDF WORDNET_FOLDER > crates/fingerprint/src/idf/default.tsv

JIEBA_IDF is src/data/idf.txt of the crate jieba-rs (MIT): lines of `word idf`, natural logarithms, Chinese news.
WORDNET_FOLDER holds data.noun, data.verb, data.adj, data.adv of WordNet 3.0 (Debian: wordnet-base); English
document frequencies are our own counts over its glosses, GLOSSES per document.

Both are scaled to DOCUMENTS documents; only the more common words are kept, since all rarer
ones have nearly the same weight.
"""
import collections
import math
import re
import sys

DOCUMENTS = 1_000_000
GLOSSES = 40
KEPT_MIN = {"zh": 400, "en": 4000}


def chinese(path):
    for line in open(path, encoding="utf-8"):
        word, idf = line.rsplit(" ", 1)
        yield word.lower(), round(DOCUMENTS * math.exp(-float(idf)))


def english(folder):
    glosses = []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in open(f"{folder}/data.{kind}", encoding="latin-1"):
            if not line.startswith("  ") and " | " in line:
                glosses.append(line.split(" | ", 1)[1].lower())
    # Neighbouring synsets share a topic, as the sentences of a document do.
    documents = [" ".join(glosses[i : i + GLOSSES]) for i in range(0, len(glosses), GLOSSES)]
    counts = collections.Counter()
    for document in documents:
        counts.update(set(re.findall(r"[a-z]+(?:'[a-z]+)?", document)))
    for word, count in counts.items():
        if count >= 3:
            yield word, round(DOCUMENTS * count / len(documents))


def main(jieba, wordnet):
    counts = {w: n for w, n in chinese(jieba) if re.search(r"[\u4e00-\u9fff]", w) and n >= KEPT_MIN["zh"]}
    counts.update((w, n) for w, n in english(wordnet) if n >= KEPT_MIN["en"])
    kept = sorted((-n, word) for word, n in counts.items())
    print("# leitong idf 1")
    print("# Made by tools/idf/default.py. Chinese: idf.txt of jieba, (c) Sun Junyi and the authors of jieba-rs, MIT")
    print("# licence. English: counts over the glosses of WordNet 3.0, (c) 2006 Princeton University.")
    print(f"documents\t{DOCUMENTS}")
    for n, word in kept:
        print(f"{word}\t{-n}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
