"""Spark's map step: documents in Parquet → records of fingerprints in Parquet.

usage: spark-submit --py-files leitong_steps.py fingerprint.py --out DIR [--id COLUMN] [--text COLUMN | --html COLUMN]
                    [--url COLUMN] [--order COLUMN] [--config FILE] DOCUMENTS...

A task's output counts once Spark commits it, so tasks that are retried or run twice leave one copy. The order of the
files is the order of the clustering, unless cluster.py has `--order`, a column of integers that is copied to the records.
"""

import argparse
import pathlib

from leitong_steps import map_step
from pyspark.sql import SparkSession


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("documents", nargs="+", metavar="DOCUMENTS", help="Parquet files or folders, as Spark reads them")
    parser.add_argument("--out", required=True, metavar="DIR")
    parser.add_argument("--id", default="id", metavar="COLUMN", help="unique id of each document")
    parser.add_argument("--text", metavar="COLUMN", help="[default: text, or that of --html]")
    parser.add_argument("--html", metavar="COLUMN")
    parser.add_argument("--url", metavar="COLUMN")
    parser.add_argument("--order", metavar="COLUMN", help="column of integers for `cluster.py --order`")
    parser.add_argument("--config", metavar="FILE", help="a leitong.toml")
    return parser.parse_args()


def main():
    options = arguments()
    body = {"html": options.html} if options.html else {"text": options.text or "text"}
    columns = {"id": options.id, **body, **({"url": options.url} if options.url else {})}
    toml = pathlib.Path(options.config).read_text(encoding="utf-8") if options.config else None
    spark = SparkSession.builder.appName("leitong: fingerprints").getOrCreate()
    copied = [options.order] if options.order else []
    documents = spark.read.parquet(*options.documents).select(*dict.fromkeys([*columns.values(), *copied]))
    schema = "page_id string, record binary" + "".join(f", `{name}` {kind}" for name, kind in documents.dtypes if name in copied)
    records = documents.mapInArrow(map_step(columns, toml, copied), schema)
    records.write.parquet(options.out)
    spark.stop()


main()
