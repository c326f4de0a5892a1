#!/usr/bin/env python3
"""Measures `leitong dedup --keep` on JSON lines and Parquet, and packages that do the same, from a file to a file of kept
documents, and writes the table between the markers of a page. `make bench-corpora` runs it.

usage: corpora.py docs/corpora.md PYTHON [LEITONG]

PYTHON has the packages; PEERS names those to run. FASTDEDUP is the path of the program of that name, which is in no registry; without
it, it is left out. Documents are the first DOCUMENTS (10,000) of the labelled streams in LEITONG_DATA. Each is run
ROUNDS (3) times, one after another, on the first two cores; figures are medians.
"""
import collections
import ctypes
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

PEERS = ["rensa", "gaoya", "datasketch", "text_dedup", "datatrove"]
SETS = ["neardup_zh_lctt", "neardup_zh_xitu"]
MARKER = "bench-corpora"
PR_SET_CHILD_SUBREAPER = 36


def documents(data, count, out):
    """Writes the first `count` documents; returns their labels by id: (cluster, whether it is the cluster's first)."""
    labels = {}
    with open(out, "w", encoding="utf-8") as handle:
        for name in SETS:
            with gzip.open(os.path.join(data, f"{name}.jsonl.gz"), "rt", encoding="utf-8") as lines:
                for line in lines:
                    page = json.loads(line)
                    if len(labels) == count or not page.get("text"):
                        continue
                    labels[page["id"]] = (page["cluster"], page["label"])
                    fields = {field: page[field] for field in ("id", "url", "text")}
                    handle.write(json.dumps(fields, ensure_ascii=False) + "\n")
    return labels


def score(kept, labels):
    """Returns the F1 of removal: all documents of a labelled cluster but one, whichever it is, should be removed, and nothing
    else. Documents labelled as ambiguous do not count."""
    sizes, gone = collections.Counter(), collections.Counter()
    for page, (cluster, label) in labels.items():
        if label != "ambiguous":
            sizes[cluster] += 1
            gone[cluster] += page not in kept
    wrong = sum(gone[cluster] == size for cluster, size in sizes.items())
    right = sum(gone.values()) - wrong
    duplicates = sum(sizes.values()) - len(sizes)
    precision = right / (right + wrong) if right + wrong else 0
    recall = right / duplicates if duplicates else 0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0


def run(command, log):
    """Returns seconds, seconds of CPU and megabytes of the largest process of a command and all its descendants on two cores."""
    # A process that its parent did not wait for becomes ours, so that its CPU time counts as well.
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
    start = time.monotonic()
    process = subprocess.Popen(["taskset", "-c", "0,1", *command], stdout=log, stderr=log)
    cpu, memory, seconds = 0, 0, 0
    while True:
        try:
            pid, status, usage = os.wait3(0)
        except ChildProcessError:
            break
        cpu += usage.ru_utime + usage.ru_stime
        memory = max(memory, usage.ru_maxrss / 1024)
        if pid == process.pid:
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}")
    return seconds, cpu, memory


def write_between(page, marker, note, rows):
    """Replaces what a page has between two markers."""
    begin, end = f"<!-- {marker}: begin -->\n", f"<!-- {marker}: end -->"
    with open(page, encoding="utf-8") as handle:
        text = handle.read()
    before, rest = text.split(begin)
    _, after = rest.split(end)
    with open(page, "w", encoding="utf-8") as handle:
        handle.write(before + begin + "\n" + note + "\n\n" + "\n".join(rows) + "\n\n" + end + after)


def main():
    page, python = sys.argv[1:3]
    leitong = sys.argv[3] if len(sys.argv) > 3 else "target/release/leitong"
    data = os.environ.get("LEITONG_DATA", "../shared/data")
    count, rounds = int(os.environ.get("DOCUMENTS", 10_000)), int(os.environ.get("ROUNDS", 3))
    peers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpora_peers.py")
    with tempfile.TemporaryDirectory() as work, open(os.path.join(work, "log"), "w+") as log:
        source = os.path.join(work, "pages.jsonl")
        labels = documents(data, count, source)
        table = os.path.join(work, "pages.parquet")
        convert = "import pyarrow.json as j, pyarrow.parquet as p, sys; p.write_table(j.read_json(sys.argv[1], read_options=j.ReadOptions(block_size=1 << 28)), sys.argv[2], compression='zstd')"
        subprocess.run([python, "-c", convert, source, table], check=True)
        out = {name: os.path.join(work, f"kept-{name}") for name in ("jsonl", "parquet", *PEERS)}
        commands = {
            "leitong, JSON lines": ([leitong, "dedup", "--overwrite", "--keep", out["jsonl"], source], out["jsonl"]),
            "leitong, Parquet (zstd)": ([leitong, "dedup", "--overwrite", "--keep", out["parquet"], table], out["parquet"]),
        }
        for peer in os.environ.get("PEERS", " ".join(PEERS)).split():
            found = subprocess.run([python, "-c", f"import {peer}, importlib.metadata as m; print(m.version('{peer}'))"], capture_output=True, text=True)
            if found.returncode != 0:
                print(f"{peer} is not installed, and is left out", file=sys.stderr)
                continue
            name = f"{peer.replace('_', '-')} {found.stdout.strip()}"
            commands[name] = ([python, peers, peer, source, out[peer]], out[peer])
        if fastdedup := os.environ.get("FASTDEDUP"):
            kept = os.path.join(work, "kept-fastdedup.jsonl")
            # Like the packages: runs of five characters, 128 permutations, similarity .7.
            options = ["--field", "text", "--shingle-size", "5", "--num-hashes", "128", "--bands", "16", "--rows-per-band", "8", "--threshold", "0.7"]
            commands["fastdedup"] = ([fastdedup, "fuzzy-dedup", "--input", source, "--output", kept, *options], kept)
        figures = {name: [] for name in commands}
        for _ in range(rounds):
            # All of them in each round, so other work on the machine affects all.
            for name, (command, _) in list(commands.items()):
                try:
                    figures[name].append(run(command, log))
                except RuntimeError as error:
                    log.flush()
                    with open(log.name) as text:
                        print(f"{name} is left out: {error}: {text.read()[-300:]}", file=sys.stderr)
                    del commands[name], figures[name]
        rows = ["| | documents per second | CPU, s | memory, MB | stay | F1 |", "|---|---|---|---|---|---|"]
        for name, (_, kept) in commands.items():
            seconds, cpu, megabytes = (statistics.median(column) for column in zip(*figures[name]))
            if "Parquet" in name:
                read = "import pyarrow.parquet as p, sys; print('\\n'.join(p.read_table(sys.argv[1], columns=['id'])['id'].to_pylist()))"
                ids = set(subprocess.run([python, "-c", read, kept], check=True, capture_output=True, text=True).stdout.split("\n")) - {""}
            else:
                with open(kept, encoding="utf-8") as lines:
                    ids = {json.loads(line)["id"] for line in lines}
            rows.append(f"| {name} | {len(labels) / seconds:,.0f} | {cpu:.1f} | {megabytes:.0f} | {len(ids):,} | {score(ids, labels):.3f} |")
        size = os.path.getsize(source) / 1e6
    note = f"{len(labels):,} documents of {size:.0f} MB, {time.strftime('%B %Y')}, medians of {rounds} runs on two cores (`make bench-corpora`):"
    write_between(page, MARKER, note, rows)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
