#!/usr/bin/env python3
"""Compares the steps of `leitong.datatrove` with datatrove's MinHash steps in the same pipeline, on a labelled set.

usage: datatrove_steps.py SET.jsonl [WORK]

Each pipeline reads JSON lines, and writes the documents that stay and, elsewhere, those that it removes, with datatrove's
own reader and writer. MinHash has datatrove's defaults (112 permutations in 14 buckets over runs of five words), which
keeps any document of a cluster; for the scores it is the first one. No pipeline sees an address. Prints a row for each:
lines of the pipeline; wall and CPU time, with the start of Python; removals; precision and recall by label. Needs a Python
with `leitong`, `datatrove`, and for Chinese `spacy` and `jieba`.
"""
import gzip
import inspect
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from leitong.datatrove import Cluster, Deduplicate, Fingerprints

FILES = 2


def run(steps, tasks):
    # Only the CPU time of forked workers is counted.
    workers = {"workers": min(tasks, 2), "start_method": "fork"}
    LocalPipelineExecutor(steps, tasks=tasks, logging_dir=tempfile.mkdtemp(dir="."), **workers).run()


def leitong_in_one_task():
    removed = JsonlWriter("removed", compression=None)
    run([JsonlReader("pages"), Deduplicate(exclusion_writer=removed), JsonlWriter("kept", compression=None)], 1)


def leitong_in_two_tasks():
    removed = JsonlWriter("removed", compression=None)
    run([JsonlReader("pages"), Fingerprints("fingerprints")], FILES)
    run([Cluster("fingerprints", "remove")], 1)
    run([JsonlReader("pages"), MinhashDedupFilter("remove", removed), JsonlWriter("kept", compression=None)], FILES)


def minhash(config=None):
    removed = JsonlWriter("removed", compression=None)
    config = config or MinhashConfig()
    run([JsonlReader("pages"), MinhashDedupSignature("signatures", config, language="cmn_Hani")], FILES)
    run([MinhashDedupBuckets("signatures", "buckets", config=config)], config.num_buckets)
    run([MinhashDedupCluster("buckets", "remove", config=config, save_cluster_id=True)], 1)
    filter = MinhashDedupFilter("remove", removed, load_cluster_ids=True)
    run([JsonlReader("pages"), filter, JsonlWriter("kept", compression=None)], FILES)


def lines(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def documents(folder):
    return {page["id"]: page for name in sorted(os.listdir(folder)) for page in lines(f"{folder}/{name}")}


def verdicts(pages):
    """Returns for each page the first one of its cluster, as the pipeline wrote it: itself if it is new."""
    kept, removed = documents("kept"), documents("removed")
    assert len(kept) + len(removed) == len(pages) and not kept.keys() & removed.keys()
    first, found = {}, {}
    for page in (page["id"] for page in pages):
        metadata = (kept.get(page) or removed[page])["metadata"]
        number = metadata.get("minhash_cluster_id", -1)
        cluster = metadata.get("leitong_canonical", page) if number == -1 else number
        found[page] = first.setdefault(cluster, page)
    return found


def score(pages, found):
    clusters = {page["id"]: page["cluster"] for page in pages}
    right = called = copies = 0
    for page in pages:
        if page["label"] != "ambiguous":
            copies += page["label"] == "dup"
            if found[page["id"]] != page["id"]:
                called += 1
                right += page["label"] == "dup" and clusters[found[page["id"]]] == page["cluster"]
    return right / called, right / copies


PIPELINES = {"one": leitong_in_one_task, "two": leitong_in_two_tasks, "minhash": minhash}


def main(source, work=None):
    pages = lines(source)
    work = os.path.abspath(work or tempfile.mkdtemp())
    print("| | lines | wall, s | CPU, s | removed | precision | recall |\n|---|---|---|---|---|---|---|")
    former = None
    for name, pipeline in PIPELINES.items():
        os.makedirs(f"{work}/{name}/pages")
        size = -(-len(pages) // FILES)
        for file in range(FILES):
            with open(f"{work}/{name}/pages/{file}.jsonl", "w", encoding="utf-8") as out:
                for page in pages[file * size :][:size]:
                    out.write(json.dumps({"id": page["id"], "text": page["text"]}, ensure_ascii=False) + "\n")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        with open(f"{work}/{name}/log", "w") as log:
            subprocess.run([sys.executable, os.path.abspath(__file__), "--run", name], check=True, cwd=f"{work}/{name}", stderr=log)
        wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        os.chdir(f"{work}/{name}")
        removed = documents("removed")
        if name == "two":
            # Records name no canonical page; the same documents are removed as in one task.
            assert removed.keys() == former.keys()
            figures = "the same"
        else:
            figures = "{:.3f} | {:.3f}".format(*score(pages, verdicts(pages)))
        former = removed
        count = len(inspect.getsource(pipeline).splitlines()) - 1
        print(f"| {name} | {count} | {wall:.1f} | {cpu:.1f} | {len(removed)} | {figures} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        PIPELINES[sys.argv[2]]()
    else:
        main(*sys.argv[1:])
