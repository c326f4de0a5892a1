"""Spark's clustering: records of fingerprints in Parquet → a verdict on each document, in Parquet.

usage: spark-submit cluster.py RECORDS OUT [--work DIR] [--order COLUMN] [--config FILE]
"""

from leitong.spark import main

main()
