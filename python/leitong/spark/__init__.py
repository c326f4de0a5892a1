"""Clustering on Spark, with the verdicts of one process that decides on the same records in the same order.

    spark-submit cluster.py RECORDS OUT

`cluster` takes records of `Fingerprinter.records` in Parquet and writes a verdict on each document. It needs the
packages of `pip install "leitong[spark]"`.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

__all__ = ["cluster", "main"]


def cluster(spark, records, out, *, work=None, toml=None, order=None):
    """Clusters the records in a folder of Parquet files, and writes a verdict on each document to the folder `out`.

    The verdicts are those of one process over the same records, ordered by the files' names and by row, or by the column
    `order`, which has a different integer for each. Intermediate results are in the folder `work` (default: `out` and
    ".work"), which all machines share. Neither folder may exist. `toml` is the text of the leitong.toml that made the
    records. Returns counts. Raises ValueError for settings or an order with which the verdicts could differ.
    """
    # Spark is imported only where it is used.
    from . import _rounds

    return _rounds.cluster(spark, records, out, work, toml, order)


def main(arguments=None):
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="leitong.spark", description=__doc__.split("\n")[0])
    parser.add_argument("records", metavar="RECORDS", help="folder of Parquet files with a column `record`")
    parser.add_argument("out", metavar="OUT", help="folder for the verdicts; it must not exist")
    parser.add_argument("--work", metavar="DIR", help="folder for intermediate results, which all machines share; it must not exist [default: OUT.work]")
    parser.add_argument("--order", metavar="COLUMN", help="column of integers that orders the records [default: file and row]")
    parser.add_argument("--config", metavar="FILE", help="the leitong.toml that made the fingerprints")
    options = parser.parse_args(arguments)
    toml = pathlib.Path(options.config).read_text(encoding="utf-8") if options.config else None

    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("leitong: clustering").getOrCreate()
    try:
        counts = cluster(spark, options.records, options.out, work=options.work, order=options.order, toml=toml)
    except ValueError as error:
        sys.exit(f"leitong.spark: {error}")
    finally:
        spark.stop()
    print(", ".join(f"{name} {count:,}" for name, count in counts.items()))
