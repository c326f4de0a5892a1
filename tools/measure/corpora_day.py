#!/usr/bin/env python3
"""Measures a corpus engineer's day, examples/corpus/day.sh, next to a pipeline of datatrove that does the same work, and
writes the table between the markers of a page. `make bench-corpora` runs it.

usage: corpora_day.py docs/corpora.md PYTHON [LEITONG]

Input are the labelled HTML pages in LEITONG_DATA, written as WARC files, and a benchmark of paragraphs
from some of these pages. Both programs read the same files on the first two cores, one after the other in each of ROUNDS
(3) rounds; the figures are medians, and medians of the ratios within a round. The output is read and
checked: each document is one of the input, is there once, and has a text.

The right output has one page of each labelled cluster, and none of a cluster that contains a passage of the benchmark.
"""
import collections
import datetime
import gzip
import hashlib
import html
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

from corpora import run, write_between

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = ["shells_zh_coolshell", "real_blog_shells", "templates_zh"]
FILES = 4
# The number of paragraphs that become items of the benchmark, and their length in ideographs.
ITEMS, IDEOGRAPHS = 30, range(80, 400)
MARKER = "bench-day"


def labelled(data):
    """Returns the labelled pages of all sets, in an order that depends on their ids alone. Each is fetched in a second of its
    own, by which it is recognised in the output."""
    pages = []
    for name in SETS:
        with gzip.open(os.path.join(data, f"{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
            for page in map(json.loads, lines):
                pages.append(page | {"cluster": f"{name}/{page['cluster']}"})
    pages.sort(key=lambda page: hashlib.sha256(page["id"].encode()).digest())
    day = datetime.datetime(2026, 11, 1)
    return [page | {"fetched": (day + datetime.timedelta(seconds=number)).isoformat()} for number, page in enumerate(pages)]


def write_warc(pages, path):
    """Writes a record of HTTP for each page, each in a gzip member of its own."""
    with open(path, "wb") as out:
        for page in pages:
            body = page["html"].encode()
            http = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            head = {
                "WARC-Type": "response",
                "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, page['id'])}>",
                "WARC-Date": f"{page['fetched']}Z",
                "WARC-Target-URI": page["url"],
                "WARC-Identified-Payload-Type": "text/html",
                "Content-Type": "application/http; msgtype=response",
                "Content-Length": str(len(http) + len(body)),
            }
            lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
            out.write(gzip.compress(f"WARC/1.1\r\n{lines}\r\n".encode() + http + body + b"\r\n\r\n", compresslevel=6))


def write_benchmark(pages, path):
    """Writes a paragraph of some articles as the answers of a benchmark; returns the clusters that contain one."""
    contaminated = {}
    for page in pages:
        # The body of a feed has the article and nothing else, so no extractor is needed to find a paragraph of it.
        if page.get("shell") != "C" or page["cluster"] in contaminated or len(contaminated) == ITEMS:
            continue
        for paragraph in re.findall(r"<p>(.*?)</p>", page["html"], re.DOTALL):
            text = html.unescape(re.sub(r"<[^>]*>", "", paragraph)).strip()
            if len(re.findall("[\u4e00-\u9fff]", text)) in IDEOGRAPHS and "\n" not in text:
                contaminated[page["cluster"]] = text
                break
    with open(path, "w", encoding="utf-8") as out:
        for number, text in enumerate(contaminated.values()):
            out.write(json.dumps({"id": f"item-{number}", "question": "?", "answer": text}, ensure_ascii=False) + "\n")
    return set(contaminated)


def score(kept, pages, contaminated):
    """Returns precision and recall of what is removed, their F1, and the number of contaminated pages that stay."""
    sizes, gone = collections.Counter(), collections.Counter()
    for page in pages:
        if page["label"] != "ambiguous":
            sizes[page["cluster"]] += 1
            gone[page["cluster"]] += page["fetched"] not in kept
    wrong = sum(gone[cluster] == size for cluster, size in sizes.items() if cluster not in contaminated)
    right = sum(gone.values()) - wrong
    expected = sum(size if cluster in contaminated else size - 1 for cluster, size in sizes.items())
    left = sum(sizes[cluster] - gone[cluster] for cluster in contaminated)
    precision, recall = right / max(1, right + wrong), right / expected
    return precision, recall, 2 * precision * recall / max(1e-9, precision + recall), left


def read_output(folder, pages):
    """Returns when the documents in all files of a folder were fetched, and checks them."""
    known, kept = {page["fetched"] for page in pages}, set()
    for name in sorted(os.listdir(folder)):
        if not re.search(r"^(texts|\d+)\.jsonl\.gz$", name):
            continue
        with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as lines:
            for document in map(json.loads, lines):
                fetched = (document.get("fetched_at") or document["metadata"]["date"])[:19]
                assert fetched in known and fetched not in kept, f"{name}: {document['id']}"
                assert document["text"].strip(), f"{name}: {document['id']} has no text"
                kept.add(fetched)
    return kept


def main():
    page, python = sys.argv[1:3]
    leitong = os.path.abspath(sys.argv[3] if len(sys.argv) > 3 else "target/release/leitong")
    pages = labelled(os.environ.get("LEITONG_DATA", "../shared/data"))
    rounds = int(os.environ.get("ROUNDS", 3))
    version = subprocess.run([python, "-c", "import importlib.metadata as m; print(*map(m.version, ('datatrove', 'trafilatura')))"], check=True, capture_output=True, text=True)
    trove = "datatrove {} (Trafilatura {})".format(*version.stdout.split())
    with tempfile.TemporaryDirectory() as work, open(os.path.join(work, "log"), "w+") as log:
        crawl, benchmark = os.path.join(work, "crawl"), os.path.join(work, "benchmark.jsonl")
        os.mkdir(crawl)
        for number in range(FILES):
            write_warc(pages[number::FILES], os.path.join(crawl, f"{number}.warc.gz"))
        contaminated = write_benchmark(pages, benchmark)
        os.environ |= {"LEITONG": leitong, "BENCHMARK": benchmark}
        day = os.path.join(HERE, "..", "..", "examples", "corpus", "day.sh")
        commands = {
            "leitong, `day.sh`": lambda out: [day, out, ".", crawl],
            trove: lambda out: [python, os.path.join(HERE, "corpora_day_datatrove.py"), crawl, benchmark, out],
        }
        figures, outputs = {name: [] for name in commands}, {}
        for number in range(rounds):
            for name, command in commands.items():
                out = os.path.join(work, f"{len(figures[name])}-{len(name)}")
                try:
                    figures[name].append(run(command(out), log))
                except RuntimeError as error:
                    log.flush()
                    log.seek(0)
                    sys.exit(f"{name}: {error}: {log.read()[-2000:]}")
                kept = read_output(out, pages)
                assert outputs.setdefault(name, kept) == kept, f"{name} keeps other documents in round {number + 1}"
        rows = ["| | documents per second | CPU, s | memory, MB | stay | precision | recall | F1 | contaminated, stay |", "|---|---|---|---|---|---|---|---|---|"]
        for name, kept in outputs.items():
            seconds, cpu, megabytes = (statistics.median(column) for column in zip(*figures[name]))
            precision, recall, f1, left = score(kept, pages, contaminated)
            rows.append(f"| {name} | {len(pages) / seconds:,.0f} | {cpu:.1f} | {megabytes:.0f} | {len(kept):,} | {precision:.3f} | {recall:.3f} | {f1:.3f} | {left} |")
        ours, theirs = figures.values()
        ratios = [statistics.median(b[at] / a[at] for a, b in zip(ours, theirs)) for at in (0, 1)]
        size = sum(os.path.getsize(os.path.join(crawl, name)) for name in os.listdir(crawl)) / 1e6
        raw = sum(len(page["html"].encode()) for page in pages) / 1e6
    note = (
        f"{len(pages):,} pages of {raw:.0f} MB (WARC, {size:.0f} MB), {time.strftime('%B %Y')}, medians of {rounds} rounds on two cores.\n"
        f"Ratio within a round: {ratios[0]:.1f} × the documents per second, {ratios[1]:.1f} × less CPU time."
    )
    write_between(page, MARKER, note, rows)
    print(note, *rows, sep="\n")


if __name__ == "__main__":
    main()
