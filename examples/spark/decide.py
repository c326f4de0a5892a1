"""Clustering in one process: records of fingerprints in Parquet → a verdict on each document, in Parquet.

usage: decide.py FINGERPRINTS OUT.parquet [--table DIR] [--config FILE]

With `--table` it continues with the table of earlier runs; `leitong dedup --table` reads and writes the same.
"""

import argparse
import contextlib

import leitong
from leitong_steps import VerdictFile, batches


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("fingerprints", metavar="FINGERPRINTS")
    parser.add_argument("out", metavar="OUT.parquet")
    parser.add_argument("--table", metavar="DIR")
    parser.add_argument("--config", metavar="FILE", help="the leitong.toml of the map step")
    return parser.parse_args()


def row(verdict):
    return verdict.page_id, verdict.kind, verdict.is_duplicate, verdict.canonical_page_id, verdict.cluster_id


def main():
    options = arguments()
    deduplicator = leitong.Deduplicator(options.config)
    with contextlib.ExitStack() as stack:
        table = stack.enter_context(leitong.Table(options.table)) if options.table else None
        if table:
            table.load(deduplicator)
        with VerdictFile(options.out) as out:
            for batch in batches(options.fingerprints):
                out.write(row(verdict) for verdict in deduplicator.decide_records(batch))
        if table:
            table.save(deduplicator)


main()
