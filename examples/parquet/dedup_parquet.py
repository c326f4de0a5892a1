#!/usr/bin/env python3
"""Keeps the rows of Parquet files whose text is not a duplicate of an earlier row's.

    pip install leitong pyarrow
    python dedup_parquet.py --text text --out kept/ crawl/*.parquet

Writes a file for each input, with the same name and schema, in the order of the input. Reads one
batch of rows at a time, so memory holds the table of centroids and a batch. `--annotate` keeps all
rows and adds three columns: leitong_kind, leitong_cluster, leitong_canonical. `--table DIR`
continues with the table of earlier runs (`leitong dedup --table` reads and writes the same).
"""

import argparse
import contextlib
import os
import sys

import pyarrow
import pyarrow.parquet

import leitong

COLUMNS = [("leitong_kind", "kind"), ("leitong_cluster", "cluster_id"), ("leitong_canonical", "canonical_page_id")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("inputs", nargs="+", metavar="FILE")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the output files")
    parser.add_argument("--text", metavar="COLUMN", help="the column of texts [default: text, or that of --html]")
    parser.add_argument("--html", metavar="COLUMN", help="a column of HTML, as text or bytes, instead of texts")
    parser.add_argument("--url", metavar="COLUMN", help="a column of urls")
    parser.add_argument("--id", metavar="COLUMN", help="a column of ids")
    parser.add_argument("--annotate", action="store_true", help="keep all rows, and add columns")
    parser.add_argument("--table", metavar="DIR", help="folder of a table that is kept from run to run")
    parser.add_argument("--config", metavar="FILE", help="a leitong.toml")
    parser.add_argument("--batch", type=int, default=2000, metavar="ROWS")
    return parser.parse_args()


def pages(batch, columns):
    """Returns the rows of a batch as pages: dicts with a field for each given column."""
    values = [(field, batch.column(column).to_pylist()) for field, column in columns]
    return [dict(zip([field for field, _ in values], row)) for row in zip(*(column for _, column in values))]


def run(options, deduplicator):
    body = ("html", options.html) if options.html and not options.text else ("text", options.text or "text")
    columns = [body] + [(field, column) for field, column in (("url", options.url), ("id", options.id)) if column]
    rows = kept = 0
    for path in options.inputs:
        with pyarrow.parquet.ParquetFile(path) as source:
            schema = source.schema_arrow
            missing = [column for _, column in columns if column not in schema.names]
            if missing:
                sys.exit(f"{path}: has no column {missing[0]!r}; it has {', '.join(schema.names)}")
            if options.annotate:
                for name, _ in COLUMNS:
                    schema = schema.append(pyarrow.field(name, pyarrow.string()))
            out = os.path.join(options.out, os.path.basename(path))
            # Under a temporary name until it is complete.
            with pyarrow.parquet.ParquetWriter(out + ".part", schema) as sink:
                for batch in source.iter_batches(batch_size=options.batch):
                    verdicts = deduplicator.decide_batch(pages(batch, columns))
                    rows += len(verdicts)
                    kept += sum(not verdict.is_duplicate for verdict in verdicts)
                    if options.annotate:
                        for name, field in COLUMNS:
                            found = pyarrow.array([getattr(verdict, field) for verdict in verdicts], pyarrow.string())
                            batch = batch.append_column(name, found)
                    else:
                        batch = batch.filter(pyarrow.array([not verdict.is_duplicate for verdict in verdicts]))
                    sink.write_batch(batch)
            os.replace(out + ".part", out)
    print(f"{rows} rows, {rows - kept} duplicates", file=sys.stderr)


def main():
    options = arguments()
    os.makedirs(options.out, exist_ok=True)
    inside = [path for path in options.inputs if os.path.realpath(os.path.dirname(path)) == os.path.realpath(options.out)]
    if inside:
        sys.exit(f"{inside[0]}: would be overwritten; give another folder than {options.out}")
    deduplicator = leitong.Deduplicator(options.config)
    with leitong.Table(options.table) if options.table else contextlib.nullcontext() as table:
        if table:
            table.load(deduplicator)
        run(options, deduplicator)
        if table:
            table.save(deduplicator)


main()
