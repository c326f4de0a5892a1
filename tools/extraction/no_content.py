#!/usr/bin/env python3
"""Counts pages with content that are wrongly said to have no content: whole pages, texts as pages, and pieces of texts.

    tools/extraction/no_content.py LEITONG DATA

DATA holds the labelled pages as gzip JSON lines, none of which lacks content; LEITONG is the program. Each page that is called
one without is printed, for a person to check. Pieces are 80 to 500 letters from any place of a text, four per text: the
shortest possible pages, and the most likely to be mistaken. Random numbers are seeded.
"""

import glob
import gzip
import html
import json
import os
import random
import subprocess
import sys
import tempfile

LENGTHS = [80, 120, 200, 300, 500]
PIECES = 4
LETTERS_MIN = 60


def as_html(text, title=""):
    """Returns a text as the simplest page."""
    paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in text.split("\n") if line.strip())
    return f"<html><head><title>{html.escape(title)}</title></head><body>{paragraphs}</body></html>"


def pieces(text, draw):
    """Returns parts of a text; every other one begins with a paragraph."""
    paragraphs = [line for line in text.split("\n") if line.strip()]
    for number in range(PIECES if len(text) >= LENGTHS[0] else 0):
        length = draw.choice(LENGTHS)
        if number % 2 == 0 and paragraphs:
            piece = "\n".join(paragraphs[draw.randrange(len(paragraphs)) :])[:length]
        else:
            start = draw.randrange(max(1, len(text) - length))
            piece = text[start : start + length]
        if len(piece) >= LETTERS_MIN:
            yield piece


def pages(folder):
    """Yields kind, id and body of every page to check."""
    draw = random.Random(7)
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl.gz"))):
        with gzip.open(path, "rt") as lines:
            for page in map(json.loads, lines):
                name = f"{os.path.basename(path)[:-9]}/{page['id']}"
                text = page.get("text") or page.get("gold_text") or ""
                body = {key: page[key] for key in ("html", "html_b64") if key in page}
                if body:
                    yield "pages", name, body
                else:
                    yield "texts", name, {"html": as_html(text, text.split("\n")[0][:60])}
                for number, piece in enumerate(pieces(text, draw)):
                    yield "pieces", f"{name}/{number}", {"html": as_html(piece)}
                    yield "pieces as texts", f"{name}/{number}", {"text": piece}


def main():
    """Prints the pages that are said to have no content, and how many there are."""
    program, folder = sys.argv[1:]
    kinds, counts, found = {}, {}, {}
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for kind, name, body in pages(folder):
            kinds[f"{kind}: {name}"] = kind
            counts[kind] = counts.get(kind, 0) + 1
            file.write(json.dumps({"id": f"{kind}: {name}", "url": ""} | body) + "\n")
        file.flush()
        extract = subprocess.Popen([program, "extract", "--jsonl", file.name], stdout=subprocess.PIPE, text=True)
        for line in map(json.loads, extract.stdout):
            if line.get("page_kind"):
                kind = kinds[line["id"]]
                found[kind] = found.get(kind, 0) + 1
                print(line["page_kind"], line["id"], repr(line["title"]), repr(line["text"][:100]))
        if extract.wait() not in (0, 3):
            sys.exit(f"{program} failed")
    for kind, count in counts.items():
        print(f"{kind}: {found.get(kind, 0)} of {count}")


if __name__ == "__main__":
    main()
