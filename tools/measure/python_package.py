#!/usr/bin/env python3
"""Speed of the Python package beside that of the program, on the same documents.

    PROFILE=release python/test.sh && cargo build --release --locked
    target/python/fresh/bin/python tools/measure/python_package.py 20000

Makes pages of the program's sample pages, then times, three rounds in turn: `leitong dedup` against
`Deduplicator.verdicts` in batches of 1,000, on all cores, and `leitong extract --jsonl` against
`extract`, on one. All of them read the pages as JSON lines. Prints medians and ratios.
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
    """Pages of HTML, each the sample page of its turn with a sentence of its own."""
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

        def package():
            with open(file, encoding="utf-8") as lines:
                for verdict in leitong.Deduplicator().verdicts(map(json.loads, lines), 1000):
                    verdict.kind

        def extract_all():
            with open(file, encoding="utf-8") as lines:
                for page in map(json.loads, lines):
                    leitong.extract(page["html"], url=page["url"]).text

        times = {"dedup": [], "verdicts": [], "extract, program": [], "extract": []}
        for _ in range(ROUNDS):
            times["dedup"].append(seconds(lambda: program("dedup", "--output", f"{folder}/out", str(file))))
            times["verdicts"].append(seconds(package))
            os.sched_setaffinity(0, {0})
            times["extract, program"].append(seconds(lambda: program("extract", "--jsonl", str(file))))
            times["extract"].append(seconds(extract_all))
            os.sched_setaffinity(0, range(os.cpu_count()))
        medians = {name: statistics.median(values) for name, values in times.items()}
        for what, ours, theirs in [("all cores", "verdicts", "dedup"), ("one core", "extract", "extract, program")]:
            rates = [count / medians[name] for name in (ours, theirs)]
            print(f"{what}: {ours} {rates[0]:,.0f} pages/s, {theirs} {rates[1]:,.0f}/s, ratio {rates[0] / rates[1]:.2f}")


main()
