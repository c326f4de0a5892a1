#!/usr/bin/env python3
"""Compares clustering on Spark with one process, on the same made records.

    target/examples-copied/spark/.venv/bin/python tools/measure/spark.py 400000 1

Of the documents, a tenth has the text of an earlier one, three tenths vary an earlier one, and a fifth of the others shares a
passage with some 200. Both use as many cores as the second argument says. Prints the CPU time of both with all their
processes, the bytes that Spark shuffled, and what the rounds did; checks that the verdicts are equal.
"""

import os
import pathlib
import random
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python" / "tests"))
DOCUMENTS, CORES = int(sys.argv[1]), int(sys.argv[2])
os.environ.update(RAYON_NUM_THREADS=str(CORES), SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable)

import leitong  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
import worlds  # noqa: E402
from leitong.spark import _rounds as rounds  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402


def records():
    """Yields the records."""
    draw, made = random.Random(3), []
    for number in range(DOCUMENTS):
        kind = draw.random() if made else 1
        if kind < 0.1:
            text, _, _, _, _, fingerprint = draw.choice(made)
            yield worlds.record(number, fingerprint, text=text)
            continue
        if kind < 0.4:
            _, simhash, values, bands, passages, _ = draw.choice(made)
            values, bands, passages = list(values), list(bands), list(passages)
            for at in draw.sample(range(64), draw.randrange(12)):
                values[at] = draw.randrange(16)
            for _ in range(draw.choice([0, 3, 6])):
                simhash ^= 1 << draw.randrange(64)
            for keys in (bands, passages):
                for at in draw.sample(range(len(keys)), draw.randrange(len(keys))):
                    keys[at] = draw.getrandbits(32)
        else:
            simhash, values = draw.getrandbits(64), [draw.randrange(16) for _ in range(64)]
            bands, passages = ([draw.getrandbits(32) for _ in range(count)] for count in (4, 10))
            if draw.random() < 0.2:
                passages[3] = draw.randrange(1, DOCUMENTS // 1_000 + 2)
        fingerprint = worlds.fingerprint(simhash, values, bands, passages=passages)
        made.append((number, simhash, bytes(values), bands, passages, fingerprint))
        yield worlds.record(number, fingerprint, text=number)


def cpu_of_others():
    """Returns the CPU seconds of all processes that this one has started, by program."""
    children, names, seconds = {}, {}, {}
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, stat = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        fields, pid = stat.split(), int(folder.name)
        children.setdefault(int(fields[1]), []).append(pid)
        names[pid], seconds[pid] = name, sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    found, total = list(children.get(os.getpid(), [])), {}
    for pid in found:
        found += children.get(pid, [])
        total[names[pid]] = total.get(names[pid], 0) + seconds[pid]
    return total


def shuffled(spark):
    """Returns the bytes that were shuffled."""
    context = spark.sparkContext
    no_quantiles = context._gateway.new_array(context._jvm.double, 0)
    stages = context._jsc.sc().statusStore().stageList(None, False, False, no_quantiles, None).iterator()
    total = 0
    while stages.hasNext():
        total += stages.next().shuffleWriteBytes()
    return total


def main(folder):
    (folder / "records").mkdir()
    made = list(records())
    for part in range(4):
        some = pyarrow.array(made[part * DOCUMENTS // 4 : (part + 1) * DOCUMENTS // 4], pyarrow.binary())
        pyarrow.parquet.write_table(pyarrow.table({"record": some}), folder / "records" / f"{part}.parquet")

    deduplicator, right, began = leitong.Deduplicator(toml=worlds.TOML), [], time.process_time()
    for first in range(0, DOCUMENTS, 10_000):
        verdicts = deduplicator.decide_records(made[first : first + 10_000])
        right += [(verdict.kind, verdict.canonical_page_id) for verdict in verdicts]
    print(f"one process: {time.process_time() - began:.1f} s of CPU", flush=True)

    builder = SparkSession.builder.master(f"local[{CORES}]").config("spark.sql.shuffle.partitions", 8 * CORES)
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, False)
    spark = builder.config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.range(10).mapInArrow(lambda batches: batches, "id long").count()
    before, began = cpu_of_others(), time.monotonic()
    names = (str(folder / name) for name in ("records", "out", "work"))
    counts = rounds.cluster(spark, *names, worlds.TOML, None, rounds.Limits(left=0))
    spent = {name: seconds - before.get(name, 0) for name, seconds in cpu_of_others().items()}
    print(f"Spark: {time.monotonic() - began:.1f} s; CPU: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in spent.items()))
    print(f"{shuffled(spark) / DOCUMENTS:.0f} bytes shuffled per document; {counts}")
    found = pyarrow.parquet.read_table(folder / "out", columns=["place", "kind", "canonical_page_id"]).sort_by("place")
    spark.stop()
    if list(zip(*(found.column(name).to_pylist() for name in ("kind", "canonical_page_id")))) != right:
        sys.exit("the verdicts differ")


with tempfile.TemporaryDirectory() as name:
    main(pathlib.Path(name))
