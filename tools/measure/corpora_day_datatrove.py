#!/usr/bin/env python3
"""A day's work with datatrove: WARC in; main texts out, without near-duplicates and without passages of a benchmark.

usage: corpora_day_datatrove.py CRAWL BENCHMARK.jsonl OUT

Extractor, MinHash and n-grams have datatrove's defaults, except that Trafilatura may take 30 seconds for a page instead of
one: a busy machine should not cost it documents. Two workers, as many as cores. Extraction and signatures are one
pipeline, and so are both filters, since that is faster than one after the other. Words are found by datatrove's tokenizer
for Chinese.

`NGramsDecontIndexer` needs lighteval and its hub, so the hashes of n-grams are written here by its own method.
"""
import json
import os
import shutil
import sys
import tempfile

import numpy
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter, NGramsDecontIndexer
from datatrove.pipeline.dedup import MinhashDedupBuckets, MinhashDedupCluster, MinhashDedupFilter, MinhashDedupSignature
from datatrove.pipeline.dedup.minhash import MinhashConfig
from datatrove.pipeline.extractors import Trafilatura
from datatrove.pipeline.readers import JsonlReader, WarcReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.hashing import create_hash_func
from datatrove.utils.typeshelper import Languages
from datatrove.utils.word_tokenizers import load_word_tokenizer

WORKERS = 2
LANGUAGE = Languages.mandarin_chinese


def write_index(benchmark, folder):
    """Writes the hashes of the benchmark's n-grams, as `NGramsDecontIndexer` does."""
    config = NGramsDecontConfig()
    indexer = object.__new__(NGramsDecontIndexer)
    indexer.config, indexer.tokenizer, indexer.hash_func = config, load_word_tokenizer(LANGUAGE), create_hash_func(config.hash_config)
    hashes = set()
    with open(benchmark, encoding="utf-8") as lines:
        for item in map(json.loads, lines):
            hashes.update(indexer.compute_hashes(item["answer"], item["question"]))
    os.makedirs(folder)
    numpy.array(list(hashes), dtype=config.hash_config.np_descr).tofile(f"{folder}/benchmark.index.hashes")


def main(crawl, benchmark, out):
    work = tempfile.mkdtemp(dir=os.path.dirname(os.path.abspath(out)))
    config = MinhashConfig()

    def run(tasks, *pipeline):
        # Workers are forked: so they need not import everything again.
        logs = tempfile.mkdtemp(dir=work)
        LocalPipelineExecutor(pipeline=list(pipeline), tasks=tasks, workers=WORKERS, logging_dir=logs, start_method="fork").run()

    write_index(benchmark, f"{work}/index")
    signatures = MinhashDedupSignature(f"{work}/signatures", config=config, language=LANGUAGE)
    run(WORKERS, WarcReader(crawl), Trafilatura(timeout=30), JsonlWriter(f"{work}/texts"), signatures)
    run(config.num_buckets, MinhashDedupBuckets(f"{work}/signatures", f"{work}/buckets", config=config))
    run(1, MinhashDedupCluster(f"{work}/buckets", f"{work}/remove", config=config))
    clean = NGramsDecontFilter(f"{work}/index", language=LANGUAGE)
    run(WORKERS, JsonlReader(f"{work}/texts"), MinhashDedupFilter(f"{work}/remove"), clean, JsonlWriter(out))
    shutil.rmtree(work)


if __name__ == "__main__":
    main(*sys.argv[1:])
