#!/usr/bin/env python3
"""Audits what datatrove's MinHash, text-dedup and `leitong dedup` remove from labelled sets, with `leitong audit`.

usage: audit.py LEITONG OUT zh|en SET.jsonl...

datatrove has its defaults (112 permutations in 14 buckets over runs of five words); its `.remove` files are audited as
they are. text-dedup runs as in corpora_peers.py. Prints a row for each: the outcomes; and how many removals, other than of
equal texts, are flagged (facts differ, text is lost, nothing like it): of those after which no kept document has the same
label, and of the others. Results and pages of 50 removals are in OUT.
"""
import json
import os
import subprocess
import sys

from corpora_peers import text_dedup

OUTCOMES = ["same_text", "contained", "facts_differ", "text_lost", "nothing_like_it", "no_text"]


def datatrove(source, work, language):
    """Returns the folder of `.remove` files."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupSignature
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.utils.typeshelper import Languages

    config = MinhashConfig()
    language = {"zh": Languages.mandarin_chinese, "en": Languages.english}[language]
    folder, name = os.path.split(os.path.abspath(source))
    steps = [
        ([JsonlReader(folder, glob_pattern=name), MinhashDedupSignature(f"{work}/signatures", config=config, language=language)], 1),
        ([MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config)], config.num_buckets),
        ([MinhashDedupCluster(f"{work}/buckets", f"{work}/remove", config=config)], 1),
    ]
    for number, (pipeline, tasks) in enumerate(steps):
        LocalPipelineExecutor(pipeline=pipeline, tasks=tasks, workers=min(tasks, 2), logging_dir=f"{work}/logs{number}").run()
    return f"{work}/remove"


def lines(path):
    with open(path, encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def removed_by(tool, source, work, language, leitong):
    """Returns the list of what a tool removes from a set."""
    if tool == "datatrove":
        return datatrove(source, work, language)
    if tool == "leitong":
        subprocess.run([leitong, "dedup", "--keep", f"{work}/kept.jsonl", source], check=True)
    else:
        text_dedup(source, f"{work}/kept.jsonl")
    kept = {page["id"] for page in lines(f"{work}/kept.jsonl")}
    with open(f"{work}/removed.txt", "w", encoding="utf-8") as out:
        out.writelines(page["id"] + "\n" for page in lines(source) if page["id"] not in kept)
    return f"{work}/removed.txt"


def main(leitong, out, language, *sources):
    print("| set | tool | removed |", " | ".join(OUTCOMES), "| flagged: wrong by label | flagged: right by label |")
    for source in sources:
        pages = lines(source)
        for tool in ["datatrove", "text-dedup", "leitong"]:
            name = os.path.basename(source).split(".")[0]
            work = os.path.abspath(f"{out}/{name}.{tool}")
            os.makedirs(work)
            ids = removed_by(tool, source, work, language, leitong)
            outputs = ["--output", f"{work}/audit.jsonl", "--report", f"{work}/review.html"]
            subprocess.run([leitong, "audit", "--kept", source, "--removed-ids", ids, *outputs], check=True)
            audited = lines(f"{work}/audit.jsonl")
            removed = {page["id"] for page in audited}
            kept = {page["cluster"] for page in pages if page["id"] not in removed}
            clusters = {page["id"]: page["cluster"] for page in pages}
            flagged = {True: [0, 0], False: [0, 0]}
            for page in audited:
                count = flagged[clusters[page["id"]] in kept]
                count[0] += page["outcome"] in OUTCOMES[2:5]
                count[1] += page["outcome"] != "same_text"
            counts = [sum(page["outcome"] == outcome for page in audited) for outcome in OUTCOMES]
            figures = [*counts, *("{} of {}".format(*flagged[right]) for right in (False, True))]
            print("|", " | ".join(map(str, [name, tool, len(audited), *figures])), "|", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
