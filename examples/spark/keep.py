"""Spark's last step: keeps the documents that no verdict calls a duplicate.

usage: spark-submit keep.py DOCUMENTS VERDICTS.parquet OUT [ID_COLUMN]
"""

import sys

from pyspark.sql import SparkSession


def main(documents, verdicts, out, id_column="id"):
    spark = SparkSession.builder.appName("leitong: what stays").getOrCreate()
    documents = spark.read.parquet(documents)
    gone = spark.read.parquet(verdicts).where("is_duplicate").select("page_id")
    stays = documents.join(gone, documents[id_column].cast("string") == gone["page_id"], "left_anti")
    stays.write.parquet(out)
    spark.stop()


main(*sys.argv[1:])
