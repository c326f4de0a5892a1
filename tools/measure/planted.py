"""Near-duplicates planted in a large stream of unrelated pages (paper 000), for `tools/measure/experiments.py`.

The stream: the first page of each cluster of the labelled data, split into pieces of whole paragraphs, each a separate
page; then copies of some of them, changed by `leitong-lab perturb`, at random places after their originals.
"""

import gzip
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time
from typing import Callable, Iterator

# A piece ends with the paragraph that brings it to the lower bound; a piece above the upper bound is left out.
LETTERS_MIN, LETTERS_MAX = 400, 2000
COPIES = 2000
CHANGES = ["rewritten=0.05", "deleted=0.2", "paragraphs-moved=0.5", "boilerplate=4"]
DETECTORS = ["simhash", "paragraph", "agglomerate-term", "concept-network"]
VARIANTS = [("paragraph", "a list of these pages' common paragraphs", 'paragraph.boilerplate_file = "common.txt"'),
            ("paragraph", "share ≥ 0.5", "paragraph.near.share_min = 0.5"),
            ("concept-network", "IDF of these pages", 'idf.file = "idf.tsv"')]
# Length of a run of letters that unrelated texts do not share, as in `leitong-lab eval`.
PASSAGE = 20
SEED = 1


def letters(text: str) -> str:
    return "".join(c for c in text if c.isalnum())


def texts(data: pathlib.Path, leitong: str) -> Iterator[tuple[str, str]]:
    """Yields id and text of the first page of each cluster, and of the pages without labels, each url once."""
    seen = set()
    for path in sorted(data.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            pages = [json.loads(line) for line in file]
        if "cluster" in pages[0] and "html" in pages[0]:
            found = subprocess.run([leitong, "extract", "--jsonl", str(path)], check=True, capture_output=True, text=True).stdout
            extracted = {page["id"]: page["text"] for page in map(json.loads, found.splitlines())}
            pages = [page | {"text": extracted.get(page["id"])} for page in pages]
        for page in pages:
            text = page.get("text") or page.get("gold_text") or page.get("silver_text")
            origin = f'{path.stem} {page["cluster"]}' if "cluster" in page else page["url"]
            if text and origin not in seen:
                seen.add(origin)
                yield f'{path.name.split(".")[0]}:{page["id"]}', text


def pieces(text: str) -> Iterator[str]:
    piece: list[str] = []
    length = 0
    for paragraph in text.split("\n"):
        piece.append(paragraph)
        length += len(letters(paragraph))
        if length >= LETTERS_MIN:
            if length <= LETTERS_MAX:
                yield "\n".join(piece)
            piece, length = [], 0


def write(path: pathlib.Path, pages: list[dict]) -> pathlib.Path:
    path.write_text("".join(json.dumps(page, ensure_ascii=False) + "\n" for page in pages), encoding="utf-8")
    return path


def stream(data: pathlib.Path, leitong: str, out: pathlib.Path) -> list[dict]:
    """Returns all pieces in random order, with copies among them."""
    draw = random.Random(SEED)
    pages = [{"id": f"{page}.{number}", "url": f"https://piece.test/{page}/{number}", "text": piece}
             for page, text in texts(data, leitong) for number, piece in enumerate(pieces(text))]
    draw.shuffle(pages)
    changes = [argument for change in CHANGES for argument in ("--change", change)]
    made = subprocess.run([leitong + "-lab", "perturb", *changes, "--texts", str(COPIES), "--seed", str(SEED), str(write(out / "pieces.jsonl", pages))],
                          check=True, capture_output=True, text=True).stdout
    place = {page["id"]: float(number) for number, page in enumerate(pages)}
    copies = list(map(json.loads, made.splitlines()))
    placed = [(place[copy["of"]] + 0.5 + draw.random() * (len(pages) - place[copy["of"]]), copy) for copy in copies]
    placed += [(place[page["id"]], page) for page in pages]
    return [page for _, page in sorted(placed, key=lambda item: item[0])]


def dedup(leitong: str, arguments: list[str], pages: pathlib.Path, verdicts: pathlib.Path) -> tuple[float, int]:
    """Returns seconds and peak resident bytes. They are read from the kernel during the run, since its figure for an ended
    child is at least that of this script."""
    since, resident = time.monotonic(), 0
    child = subprocess.Popen([leitong, "dedup", *arguments, "--overwrite", "--output", str(verdicts), str(pages)], stderr=subprocess.DEVNULL,
                             env=os.environ | {"LEITONG_EVERY_SETTING": "1"})
    while child.poll() is None:
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text(encoding="utf-8")
        resident = max([resident, *(1024 * int(kb) for kb in re.findall(r"VmHWM:\s*(\d+)", status))])
        time.sleep(0.02)
    if child.returncode:
        raise SystemExit(f"dedup {arguments} ended with status {child.returncode}")
    return time.monotonic() - since, resident


def runs(text: str, length: int) -> set[str]:
    text = letters(text)
    return {text[at:at + length] for at in range(len(text) - length + 1)}


def kinship(a: str, b: str) -> str:
    """Describes what two pages have in common that are not known to be copies."""
    fives = runs(a, 5), runs(b, 5)
    # The rule by which the data were labelled.
    if 2 * len(fives[0] & fives[1]) >= len(fives[0] | fives[1]):
        return "alike"
    return "passage" if runs(a, PASSAGE) & runs(b, PASSAGE) else "none"


def judge(pages: list[dict], verdicts: pathlib.Path) -> dict:
    """Returns the copies found by kind of change, and pages that were called duplicates of a page they do not copy."""
    by_id = {page["id"]: page for page in pages}
    origin = {page["id"]: page.get("of", page["id"]) for page in pages}
    found: dict[str, list[bool]] = {}
    false = {"alike": 0, "passage": 0, "none": 0}
    with open(verdicts, encoding="utf-8") as file:
        for verdict in map(json.loads, file):
            page = by_id[verdict["page_id"]]
            centre = verdict["canonical_page_id"] if verdict["kind"].endswith("_DUPLICATE") else None
            right = centre is not None and origin[centre] == origin[page["id"]]
            if "change" in page:
                found.setdefault(page["change"], []).append(right)
            if centre is not None and not right:
                false[kinship(page["text"], by_id[centre]["text"])] += 1
    return {"found": found} | false


def section(data: pathlib.Path, leitong: str, out: pathlib.Path, table: Callable[[list[str], list[list[str]]], str]) -> str:
    pages = stream(data, leitong, out)
    path = write(out / "planted.jsonl", pages)
    copies = sum("change" in page for page in pages)
    size = sum(len(letters(page["text"])) for page in pages) / len(pages)
    rows: list[list[str]] = []
    changes: list[str] = []
    cases = [(f"`{detector}`", ["--detector", detector]) for detector in DETECTORS]
    for command, to in (["boilerplate", "build", "--pages-min", "20"], "common.txt"), (["idf", "build"], "idf.tsv"):
        subprocess.run([leitong, *command, "--overwrite", "--output", str(out / to), str(path)], check=True, stderr=subprocess.DEVNULL)
    for number, (detector, about, setting) in enumerate(VARIANTS):
        config = out / f"planted{number}.toml"
        config.write_text(f'detector = "{detector}"\n{setting}\n', encoding="utf-8")
        cases.append((f"`{detector}`, {about}", ["--config", str(config)]))
    for name, arguments in cases:
        seconds, resident = dedup(leitong, arguments, path, out / "planted.verdicts.jsonl")
        judged = judge(pages, out / "planted.verdicts.jsonl")
        found, changes = judged["found"], sorted(judged["found"])
        right = sum(map(sum, found.values()))
        wrong = judged["none"] + judged["passage"]
        rows.append([name, f"{100 * right / copies:.1f}", *(f"{100 * sum(found[c]) / len(found[c]):.1f}" for c in changes),
                     str(judged["none"]), str(judged["passage"]), str(judged["alike"]), f"{100 * right / max(right + wrong, 1):.1f}",
                     f"{len(pages) / seconds:,.0f}", f"{resident / 1e6:,.0f}"])
        print(f"planted: {name}", file=sys.stderr)
    head = ["detector", "copies found, %", *changes, "false: nothing in common", "a passage in common", "alike", "precision, %", "pages/s", "MB"]
    return ("### Planted among many pages (000)\n\n"
            f"{copies:,} copies among {len(pages) - copies:,} other pages, {size:,.0f} letters each on average: paragraphs of {LETTERS_MIN} letters or more together, of the first page of "
            "each cluster, and the pages that carry no labels. Of the pages called duplicates of what they are not a copy of, how many have nothing in common with it, a passage "
            f"of {PASSAGE} letters (a quotation, a footer, a licence), or half of their 5-grams, which makes them near-duplicates by the rule of the labels: these count for nothing in the "
            "precision, the others against it. `leitong dedup` as a whole, on two cores; the most memory that was resident.\n\n" + table(head, rows))
