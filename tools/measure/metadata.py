#!/usr/bin/env python3
"""Scores the source metadata that Leitong finds: authors, date of publication, publisher.

usage: metadata.py LEITONG DATA [--peers] [--misses]

DATA has `extract_en_wcxb.jsonl.gz` (gold: `author`, `publish_date`) and pages in Chinese, whose gold is
`metadata_zh.tsv` next to this file: page, whether it names a publisher (yes, no; maybe: not scored if none is
found), correct publishers, day, authors; `|` separates several, `-` means none. `?` means unknown, and is not scored.

Authors are counted one by one: found and correct, found, gold. A date is correct if its day is. Pages without gold
count if something is found (`not in gold`): the gold may have overlooked it, so it does not affect precision.
A publisher on a page that names none is wrong. Prints rows of a Markdown table. `--peers` adds the results of
trafilatura and gne, if they are installed; `--misses` prints the errors to standard error.
"""
import base64
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

CHINESE = ["pages_zh_gne", "extract_zh_articles", "pages_zh_netease"]


def lines(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as handle:
        for line in handle:
            yield json.loads(line)


def gold_of_wcxb(page):
    return {"authors": names(page["author"]), "day": page["publish_date"], "publishers": None}


def gold_of_chinese():
    gold = {}
    table = pathlib.Path(__file__).with_name("metadata_zh.tsv").read_text(encoding="utf-8")
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        page, named, publishers, day, authors = line.split("\t")
        gold[page] = {
            "named": named,
            "publishers": [] if publishers == "-" else publishers.split("|"),
            "day": None if day in "-?" else day,
            "authors": [] if authors in "-?" else authors.split("|"),
        }
    return gold


def names(text):
    """Returns the names in a text, without letters after them such as MD."""
    parts = re.split(r",\s*|;\s*|\s+and\s+|\s+&\s+|、", text or "")
    return [part for part in parts if part and not re.fullmatch(r"[A-Z][A-Za-z.]{0,5}", part)]


def plain(name):
    name = re.sub(r"[（(].*?[)）]|[《》“”\"]", "", name)
    return re.sub(r"[\W_]+", "", name).casefold()


class Count:
    """Counts: correct, found, gold, and found although the gold has none."""

    def __init__(self):
        self.right = self.found = self.gold = self.beside = 0

    def row(self):
        share = lambda part, whole: "%.3f" % (part / whole) if whole else "–"
        return f"{share(self.right, self.found)} | {share(self.right, self.gold)} | {self.gold} | {self.beside}"


def score(golds, found, misses):
    counts = {"author": Count(), "date": Count(), "publisher": Count()}
    for page, gold in golds.items():
        said = found.get(page) or {}
        one(counts["author"], {plain(n) for n in gold["authors"]}, {plain(n) for a in said.get("authors", []) for n in names(a)},
            misses and (page, "author", gold["authors"], said.get("authors")))
        day = (said.get("published_at") or "")[:10]
        one(counts["date"], {gold["day"]} - {None}, {day} - {""}, misses and (page, "date", gold["day"], said.get("published_at")))
        if gold["publishers"] is None:
            continue
        count, publisher = counts["publisher"], said.get("publisher")
        is_right = bool(publisher) and plain(publisher) in {plain(name) for name in gold["publishers"]}
        is_scored = gold["named"] != "maybe" or bool(publisher)
        count.gold += gold["named"] == "yes"
        count.found += bool(publisher) and is_scored
        # Optional publishers that are found correctly add to precision, not to recall.
        count.right += is_right and gold["named"] == "yes"
        count.found -= is_right and gold["named"] == "maybe"
        if misses and not is_right and (publisher or gold["named"] == "yes"):
            print(page, "publisher", gold["publishers"], "found:", publisher, said.get("credit_line"), file=sys.stderr)
    return counts


def one(count, gold, found, miss):
    if not gold:
        count.beside += bool(found)
        return
    count.right += len(gold & found)
    count.found += len(found)
    count.gold += len(gold)
    if miss and gold != found:
        print(*miss[:2], "gold:", miss[2], "found:", miss[3], file=sys.stderr)


def of_leitong(leitong, pages):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for page in pages:
            # The gold's fields are not fields of a page.
            kept = {key: page[key] for key in ("id", "url", "html", "html_b64") if key in page}
            file.write(json.dumps(kept) + "\n")
        file.flush()
        out = subprocess.run([leitong, "extract", "--jsonl", file.name], stdout=subprocess.PIPE, check=True).stdout
    return {line["id"]: line.get("metadata") for line in map(json.loads, out.splitlines())}


def html_of(page):
    if "html" in page:
        return page["html"]
    charset = page["encoding_true"].lower()
    return base64.b64decode(page["html_b64"]).decode("gb18030" if charset.startswith("gb") else charset, "replace")


def of_trafilatura(pages):
    import trafilatura

    found = {}
    for page in pages:
        data = trafilatura.extract_metadata(html_of(page), default_url=page["url"])
        data = data.as_dict() if data else {}
        authors = [name for name in (data.get("author") or "").split("; ") if name]
        found[page["id"]] = {"authors": authors, "published_at": data.get("date")}
    return found


def of_gne(pages):
    import gne

    found = {}
    for page in pages:
        try:
            data = gne.GeneralNewsExtractor().extract(html_of(page))
        except Exception:  # It fails on some pages.
            data = {}
        day = re.search(r"(\d{4})\D(\d{1,2})\D(\d{1,2})", data.get("publish_time") or "")
        day = day and "%s-%02d-%02d" % (day[1], int(day[2]), int(day[3]))
        found[page["id"]] = {"authors": [name for name in [data.get("author")] if name], "published_at": day}
    return found


def main():
    leitong, data = sys.argv[1], pathlib.Path(sys.argv[2])
    peers, misses = "--peers" in sys.argv, "--misses" in sys.argv
    wcxb = list(lines(data / "extract_en_wcxb.jsonl.gz"))
    chinese = gold_of_chinese()
    sets = {"extract_en_wcxb": (wcxb, {page["id"]: gold_of_wcxb(page) for page in wcxb})}
    for name in CHINESE:
        pages = [page for page in lines(data / f"{name}.jsonl.gz") if page["id"] in chinese]
        sets[name] = (pages, {page["id"]: chinese[page["id"]] for page in pages})
    print("| pages | by | what | precision | recall | gold | not in gold |\n|---|---|---|---|---|---|---|")
    total = Count()
    for name, (pages, golds) in sets.items():
        readers = {"Leitong": lambda pages: of_leitong(leitong, pages)}
        if peers:
            readers |= {"trafilatura": of_trafilatura, "gne": of_gne}
        for reader, read in readers.items():
            counts = score(golds, read(pages), misses and reader == "Leitong")
            for what, count in counts.items():
                if count.gold and (what != "publisher" or reader == "Leitong"):
                    print(f"| `{name}` | {reader} | {what} | {count.row()} |")
            if reader == "Leitong":
                for field in ("right", "found", "gold"):
                    setattr(total, field, getattr(total, field) + getattr(counts["publisher"], field))
    print(f"| all in Chinese | Leitong | publisher | {total.row()} |")


if __name__ == "__main__":
    main()
