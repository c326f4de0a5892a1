#!/usr/bin/env python3
"""Kills `leitong dedup --keep --checkpoint` at random moments, continues, and compares all outputs with those of an
undisturbed run; also measures memory per kept document.

usage: corpora_kills.py [LEITONG]

DOCUMENTS (1,000,000) documents are built from the paragraphs of LEITONG_DATA: of every ten, six have five paragraphs drawn at
random, and four repeat an earlier one without one paragraph. The run is killed KILLS (10) times, at moments drawn from
SEED. Memory is the difference of two runs, over all documents and over half of them. With ON_DISK=1 old centroids are on disk
(`table.on_disk`). Ends with status 1 if outputs differ.
"""
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

SETS = ["neardup_zh_lctt", "neardup_zh_xitu"]
PARAGRAPH_CHARS_MIN = 30


def paragraphs(data):
    """Returns the distinct paragraphs of the labelled streams, in order."""
    found = {}
    for name in SETS:
        with gzip.open(os.path.join(data, f"{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
            for line in lines:
                for paragraph in (json.loads(line).get("text") or "").split("\n"):
                    if len(paragraph) >= PARAGRAPH_CHARS_MIN:
                        found[paragraph] = None
    return list(found)


def make(path, count, pool, chance):
    earlier = []
    with open(path, "w", encoding="utf-8") as out:
        for number in range(count):
            if number % 10 < 6 or not earlier:
                parts = chance.choices(pool, k=5)
                # Copies repeat some of the last documents, and some of the first.
                if len(earlier) < 10_000:
                    earlier.append(parts)
                else:
                    earlier[chance.randrange(1_000, 10_000)] = parts
            else:
                parts = list(chance.choice(earlier))
                del parts[chance.randrange(len(parts))]
            page = {"id": str(number), "url": f"https://site{number % 997}.example/{number}", "text": "\n".join(parts)}
            out.write(json.dumps(page, ensure_ascii=False) + "\n")


class Run:
    """A run over `source` in a separate folder."""

    def __init__(self, leitong, source, folder):
        self.kept, self.verdicts = (os.path.join(folder, name) for name in ("kept.jsonl", "verdicts.jsonl"))
        self.command = [leitong, "dedup", "--keep", self.kept, "--output", self.verdicts]
        self.command += ["--checkpoint", os.path.join(folder, "checkpoint"), "--checkpoint-every", os.environ.get("EVERY", "10"), source]
        os.makedirs(folder)
        if os.environ.get("ON_DISK") == "1":
            config = os.path.join(folder, "leitong.toml")
            with open(config, "w", encoding="utf-8") as out:
                out.write("[table]\non_disk = true\n")
            self.command += ["--config", config, "--table", os.path.join(folder, "table")]

    def to_the_end(self, kill_after=None):
        """Returns seconds and peak megabytes of the run, and True if it was completed."""
        start = time.monotonic()
        with tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=said)
            killed = False
            while True:
                pid, status, usage = os.wait4(process.pid, 0 if kill_after is None or killed else os.WNOHANG)
                if pid:
                    break
                if time.monotonic() - start > kill_after:
                    process.kill()
                    killed = True
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0 and not killed:
                said.seek(0)
                raise SystemExit(f"the run failed: {said.read()[-2000:]}")
        return time.monotonic() - start, usage.ru_maxrss / 1024, process.returncode == 0

    def kept_count(self):
        with open(self.kept, "rb") as lines:
            return sum(1 for _ in lines)


def same(left, right, without):
    """Returns True if two files have the same lines, except for parts that match `without`."""
    with open(left, "rb") as left, open(right, "rb") as right:
        for one, other in zip(left, right):
            if without.sub(b"", one) != without.sub(b"", other):
                return False
        return not left.read(1) and not right.read(1)


def main():
    leitong = sys.argv[1] if len(sys.argv) > 1 else "target/release/leitong"
    count, kills = int(os.environ.get("DOCUMENTS", 1_000_000)), int(os.environ.get("KILLS", 10))
    chance = random.Random(int(os.environ.get("SEED", 1)))
    pool = paragraphs(os.environ.get("LEITONG_DATA", "../shared/data"))
    with tempfile.TemporaryDirectory() as work:
        source, half = os.path.join(work, "pages.jsonl"), os.path.join(work, "half.jsonl")
        make(source, count, pool, chance)
        with open(source, "rb") as lines, open(half, "wb") as out:
            out.writelines(line for _, line in zip(range(count // 2), lines))
        first_half = Run(leitong, half, os.path.join(work, "of-half"))
        _, half_megabytes, _ = first_half.to_the_end()
        undisturbed = Run(leitong, source, os.path.join(work, "undisturbed"))
        seconds, megabytes, _ = undisturbed.to_the_end()
        kept = undisturbed.kept_count()
        more = kept - first_half.kept_count()
        print(f"{count:,} documents of {os.path.getsize(source) / 1e6:,.0f} MB, {kept:,} stay: {count / seconds:,.0f} documents/s with checkpoints")
        print(f"{megabytes:,.0f} MB at most, {(megabytes - half_megabytes) * 1048576 / more:.0f} bytes a document that stays")
        disturbed = Run(leitong, source, os.path.join(work, "disturbed"))
        done = 0
        for done in range(kills):
            # Long enough that most runs reach a checkpoint, and none reaches all.
            _, _, ended = disturbed.to_the_end(chance.uniform(0.02, 1.5 / kills) * seconds)
            if ended:
                break
        else:
            done = kills
            disturbed.to_the_end()
        decided_at = re.compile(rb'"decided_at":"[^"]*"')
        equal = same(undisturbed.kept, disturbed.kept, decided_at) and same(undisturbed.verdicts, disturbed.verdicts, decided_at)
        print(f"killed {done} times: outputs {'are the same' if equal else 'DIFFER'}")
        sys.exit(0 if equal else 1)


main()
