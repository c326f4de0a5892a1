#!/usr/bin/env python3
"""Near-duplicate removal by other packages, from a file of JSON lines to a file of kept lines.

usage: corpora_peers.py datasketch|rensa|datatrove|text_dedup|gaoya IN.jsonl OUT.jsonl

MinHash over runs of five characters, 128 permutations, similarity .7; the first document of a group is kept. Each follows
its own guide; `datatrove` runs its four steps one after another, with its defaults (112 permutations in 14
buckets over runs of five words of its tokenizer for Chinese).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

PERMUTATIONS = 128
SHINGLE = 5
THRESHOLD = 0.7


def shingles(text):
    run = "".join(text.split()).lower()
    return {run[at : at + SHINGLE] for at in range(max(1, len(run) - SHINGLE + 1))}


def lines(path):
    with open(path, encoding="utf-8") as handle:
        for line in handle:
            yield line, json.loads(line)["text"]


def datasketch(source, target):
    from datasketch import MinHash, MinHashLSH

    index = MinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS)
    with open(target, "w", encoding="utf-8") as out:
        for number, (line, text) in enumerate(lines(source)):
            minhash = MinHash(num_perm=PERMUTATIONS)
            minhash.update_batch([shingle.encode() for shingle in shingles(text)])
            if not index.query(minhash):
                index.insert(number, minhash)
                out.write(line)


def rensa(source, target):
    from rensa import RMinHash, RMinHashLSH

    index = RMinHashLSH(threshold=THRESHOLD, num_perm=PERMUTATIONS, num_bands=16)
    founders = {}
    with open(target, "w", encoding="utf-8") as out:
        for number, (line, text) in enumerate(lines(source)):
            minhash = RMinHash(num_perm=PERMUTATIONS, seed=42)
            minhash.update(list(shingles(text)))
            # Candidates are verified, as in its guide.
            if any(founders[other].jaccard(minhash) >= THRESHOLD for other in index.query(minhash)):
                continue
            founders[number] = minhash
            index.insert(number, minhash)
            out.write(line)


def gaoya(source, target):
    from gaoya.minhash import MinHashStringIndex

    # It builds runs of characters itself, and verifies candidates.
    index = MinHashStringIndex(
        hash_size=32, jaccard_threshold=THRESHOLD, num_bands=16, band_size=8, analyzer="char", lowercase=True, ngram_range=(SHINGLE, SHINGLE)
    )
    with open(target, "w", encoding="utf-8") as out:
        for number, (line, text) in enumerate(lines(source)):
            text = "".join(text.split())
            if not index.query(text):
                index.insert_document(number, text)
                out.write(line)


def text_dedup(source, target):
    work = tempfile.mkdtemp(dir=os.path.dirname(target))
    kept = {}
    with open(f"{work}/spaced.jsonl", "w", encoding="utf-8") as spaced:
        for line, text in lines(source):
            page = json.loads(line)
            kept[page["id"]] = line
            spaced.write(json.dumps({"id": page["id"], "text": " ".join("".join(text.split()))}, ensure_ascii=False) + "\n")
    options = {"path": "json", "data_files": f"{work}/spaced.jsonl", "split": "train", "cache_dir": f"{work}/cache", "output": f"{work}/kept"}
    options |= {"column": "text", "num_perm": PERMUTATIONS, "ngram": SHINGLE, "threshold": THRESHOLD, "num_proc": 2}
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    subprocess.run([sys.executable, "-m", "text_dedup.minhash", *arguments], check=True)
    from datasets import load_from_disk

    with open(target, "w", encoding="utf-8") as out:
        out.writelines(kept[page] for page in load_from_disk(f"{work}/kept")["id"])
    shutil.rmtree(work)


def datatrove(source, target):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.typeshelper import Languages

    work = tempfile.mkdtemp(dir=os.path.dirname(target))
    folder, name = os.path.split(os.path.abspath(source))
    config = MinhashConfig()

    def reader():
        return JsonlReader(folder, glob_pattern=name)

    def run(pipeline, tasks):
        LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=min(tasks, 2), logging_dir=tempfile.mkdtemp(dir=work)).run()

    run([reader(), MinhashDedupSignature(f"{work}/signatures", config=config, language=Languages.mandarin_chinese)], 1)
    run([MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config)], config.num_buckets)
    run([MinhashDedupCluster(f"{work}/buckets", f"{work}/remove", config=config)], 1)
    run([reader(), MinhashDedupFilter(f"{work}/remove"), JsonlWriter(f"{work}/kept", compression=None)], 1)
    with open(target, "wb") as out:
        for part in sorted(os.listdir(f"{work}/kept")):
            with open(f"{work}/kept/{part}", "rb") as kept:
                shutil.copyfileobj(kept, out)
    shutil.rmtree(work)


if __name__ == "__main__":
    {peer.__name__: peer for peer in (datasketch, rensa, datatrove, text_dedup, gaoya)}[sys.argv[1]](*sys.argv[2:])
