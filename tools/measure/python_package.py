#!/usr/bin/env python3
"""Compares the speed of the Python package with that of the program, on the same documents.

    PROFILE=release python/test.sh && cargo build --release --locked
    target/python/fresh/bin/python tools/measure/python_package.py 20000

Makes pages from the program's sample pages, then times in three rounds: `leitong dedup` and
`Deduplicator.verdicts` in batches of 1,000, on all cores; `leitong extract --jsonl` and `extract`, on
one. The package reads pages as JSON lines, as the program does, and pages in memory. Prints medians, and ratios to the program.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import leitong

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "target" / "release" / "leitong"
ROUNDS = 3


def pages(count):
    """Returns pages of HTML: the sample pages in turn, each with a different sentence."""
    with open(ROOT / "examples" / "pages.jsonl", encoding="utf-8") as lines:
        samples = [page for page in map(json.loads, lines) if page.get("html")]
    for number in range(count):
        page = samples[number % len(samples)]
        own = f"<p>第{number}号来稿，{number * 7919 % 10007}字。</p>"
        yield {
            "id": str(number),
            "url": f"https://site{number % 97}.example/{number}",
            "html": page["html"].replace("</body>", own + "</body>"),
        }


def seconds(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "pages.jsonl"
        with open(file, "w", encoding="utf-8") as out:
            out.writelines(json.dumps(page, ensure_ascii=False) + "\n" for page in pages(count))

        def program(*arguments):
            subprocess.run([PROGRAM, *arguments], check=True, capture_output=True)

        def verdicts(found):
            for verdict in leitong.Deduplicator().verdicts(found, 1000):
                verdict.kind

        def extract(found):
            for page in found:
                leitong.extract(page["html"], url=page["url"]).text

        def of_file(act):
            with open(file, encoding="utf-8") as lines:
                act(map(json.loads, lines))

        held = list(pages(count))
        times = {}

        def measure(what, work):
            times.setdefault(what, []).append(seconds(work))

        for _ in range(ROUNDS):
            measure("dedup", lambda: program("dedup", "--overwrite", "--output", f"{folder}/out", str(file)))
            measure("verdicts, JSON lines", lambda: of_file(verdicts))
            measure("verdicts, in memory", lambda: verdicts(held))
            os.sched_setaffinity(0, {0})
            measure("extract of the program", lambda: program("extract", "--jsonl", str(file)))
            measure("extract, JSON lines", lambda: of_file(extract))
            measure("extract, in memory", lambda: extract(held))
            os.sched_setaffinity(0, range(os.cpu_count()))
        rates = {what: count / statistics.median(rounds) for what, rounds in times.items()}
        for what, rate in rates.items():
            beside = rates["dedup" if what.startswith(("dedup", "verdicts")) else "extract of the program"]
            print(f"{what:<24} {rate:8,.0f} pages/s  {rate / beside:.2f}")


main()
