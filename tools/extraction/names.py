#!/usr/bin/env python3
"""Renames the classes and ids of pages, as other themes would, for learning and for measuring consistency.

usage: names.py DATA OUT.jsonl.gz    two renamed forms of each labelled page in the folder DATA, for train.py

Text and structure are unchanged, so the extracted text should be unchanged too. Each page gets the last kind of renaming
and one of the others:

  hashed    every name becomes a meaningless one, always the same for the same name, as build tools make them
  none      no element has a class or an id
  half      half of the names become meaningless
  strange   names stay; three of the page's classes and one of its outer elements get one additional word each,
            drawn from the words that crates/text/src/extract/parse/hints.rs knows

The same page always gives the same forms.
"""
import gzip
import hashlib
import json
import pathlib
import random
import re
import sys

KINDS = ("hashed", "none", "half", "strange")
SETS = ("extract_zh_articles", "pages_zh_gne", "extract_en_articles", "extract_en_cleaneval", "extract_en_mixed", "extract_en_wcxb")
TAG = re.compile(r"<!--.*?-->|<(script|style|textarea)\b.*?</\1\s*>|<[a-z][^>]*>", re.S | re.I)
NAMES = re.compile(r"(\s)(class|id)(\s*=\s*)(\"[^\"]*\"|'[^']*'|[^\s>\"']+)", re.I)
# Elements that hold large parts of a page.
OUTER = re.compile(r"<(?:div|section|main|article|td|ul|table)\b", re.I)
OUTER_MAX = 40


def words():
    """Returns the words of names that extraction knows."""
    source = pathlib.Path(__file__).resolve().parents[2] / "crates/text/src/extract/parse/hints.rs"
    table = source.read_text(encoding="utf-8").split("const WORDS", 1)[1].split("];", 1)[0]
    lists = re.findall(r'"([a-z0-9|]+)"', table)
    # Each list has the same weight, whatever its length.
    return [words.split("|") for words in lists]


WORDS = words()


def hashed(name, seed):
    return "c" + hashlib.md5((seed + name).encode()).hexdigest()[:6].translate(str.maketrans("0123456789", "ghijklmnop"))


def rename(html, kind, seed):
    """Returns `html` with other names."""
    chance = random.Random(hashlib.md5(f"{seed} {kind}".encode()).digest())
    new = {}
    if kind == "strange":
        found = [m.group(4).strip("\"'") for tag in TAG.finditer(html) if not tag.group(1) for m in NAMES.finditer(tag.group()) if m.group(2).lower() == "class"]
        found = sorted(set(found))
        more = {name: chance.choice(chance.choice(WORDS)) for name in chance.sample(found, min(3, len(found)))}
        outer, outer_at, outer_word = 0, chance.randrange(OUTER_MAX), chance.choice(chance.choice(WORDS))

    def name_of(name):
        if name not in new:
            new[name] = hashed(name, seed) if kind == "hashed" or chance.random() < 0.5 else name
        return new[name]

    def names(match):
        space, what, equals, value = match.groups()
        value = value.strip("\"'")
        if kind == "none":
            return ""
        if kind == "strange":
            word = more.get(value) if what.lower() == "class" else None
            return f'{space}{what}{equals}"{value} {word}"' if word else match.group()
        return f'{space}{what}{equals}"{" ".join(map(name_of, value.split()))}"'

    def tag(match):
        nonlocal outer
        text = match.group()
        if match.group(1) or text.startswith("<!--") or text[1:5].lower() == "meta":
            return text
        text = NAMES.sub(names, text)
        if kind == "strange" and OUTER.match(text):
            outer += 1
            if outer == outer_at:
                if "class" in text.lower():
                    return re.sub(r"(class\s*=\s*[\"']?)", lambda m: f"{m.group()}{outer_word} ", text, count=1, flags=re.I)
                return re.sub(r"^<\w+", lambda m: f'{m.group()} class="{outer_word}"', text)
        return text

    if kind != "strange":
        outer = outer_at = 0
    return TAG.sub(tag, html)


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        yield from (json.loads(line) for line in handle)


def main(data, out):
    seen = set()
    with gzip.open(out, "wt", encoding="utf-8", compresslevel=1) as handle:
        for name in reversed(SETS):
            for page in lines(f"{data}/{name}.jsonl.gz"):
                # Pages of two sets are renamed once.
                if not page.get("gold_text") or not page.get("html") or page["id"] in seen:
                    continue
                seen.add(page["id"])
                other = hashlib.md5(page["id"].encode()).digest()[1] % (len(KINDS) - 1)
                for kind in (KINDS[other], KINDS[-1]):
                    row = {key: page.get(key) for key in ("url", "lang", "page_type", "gold_text")}
                    row |= {"id": f"{page['id']}~{kind}", "of": name, "html": rename(page["html"], kind, page["id"])}
                    handle.write(json.dumps(row, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
