"""`leitong.spark` compared with one process. Needs Spark: `make spark` runs it."""

import functools
import gzip
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
# A relative path is one below the root of the repository, where make runs.
DATA = TESTS.parents[1] / os.environ.get("LEITONG_DATA", "no-data")
sys.path.insert(0, str(TESTS))
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

import leitong  # noqa: E402
import leitong.spark  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
import worlds  # noqa: E402
from leitong.spark import _rounds as rounds  # noqa: E402
from leitong.spark import _steps as steps  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

FEW = rounds.Limits(window=2, rounds=3, left=0)


def session(master, **settings):
    builder = SparkSession.builder.master(master).config("spark.ui.enabled", False).config("spark.ui.showConsoleProgress", False)
    builder = builder.config("spark.sql.shuffle.partitions", 2)
    # All partitions are used, however small they are.
    builder = builder.config("spark.sql.adaptive.coalescePartitions.enabled", False).config("spark.driver.host", "127.0.0.1")
    for name, value in settings.items():
        builder = builder.config(name.replace("__", "."), value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def made_documents():
    """Returns records of several worlds, a crowd and a chain."""
    made = [worlds.world(seed, 60, 100 * seed) for seed in range(3)]
    made += [worlds.crowd(60, True, 300), worlds.crowd(30, False, 400), worlds.chain(40, 500)]
    return [record for records in made for record in records]


@functools.cache
def expected(records):
    """Returns what the verdicts of one process say, in order."""
    return [said(verdict.to_dict()) for verdict in leitong.Deduplicator(toml=worlds.TOML).decide_records(records)]


def said(verdict):
    """Returns the fields of a verdict that the output has."""
    return {name: worlds.comparable({"decided_at": 0, **verdict})[name] for name in steps.VERDICTS}


class Clustering(unittest.TestCase):
    maxDiff = 2_000

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, records, **columns):
        """Writes records to three files, in order; some have several row groups."""
        (self.folder / "records").mkdir(exist_ok=True)
        for number in range(3):
            part = slice(number * len(records) // 3, (number + 1) * len(records) // 3)
            table = pyarrow.table({"record": pyarrow.array(records[part], pyarrow.binary()), **{name: values[part] for name, values in columns.items()}})
            pyarrow.parquet.write_table(table, self.folder / "records" / f"part {number}.parquet", row_group_size=40)

    def cluster(self, spark, limits=rounds.Limits(), toml="", order=None):
        """Returns what the verdicts say, by place, and the counts."""
        for folder in ("out", "out.work"):
            shutil.rmtree(self.folder / folder, ignore_errors=True)
        folders = (str(self.folder / name) for name in ("records", "out", "out.work"))
        counts = rounds.cluster(spark, *folders, worlds.TOML + toml, order, limits)
        rows = sorted(pyarrow.parquet.read_table(self.folder / "out").to_pylist(), key=lambda row: row["place"])
        self.assertTrue(all(row["is_duplicate"] == (row["kind"].endswith("_DUPLICATE") and not row["same_url"]) for row in rows))
        return [row["place"] for row in rows], [said(row) for row in rows], counts

    def check(self, found, right):
        for place, (found_one, right_one) in enumerate(zip(found, right)):
            self.assertEqual(found_one, right_one, f"place {place}")
        self.assertEqual(len(found), len(right))


class InOneJvm(Clustering):
    @classmethod
    def setUpClass(cls):
        cls.spark = session("local[2]")

    @classmethod
    def tearDownClass(cls):
        cls.spark.stop()

    def setUp(self):
        super().setUp()
        self.spark.conf.set("spark.sql.shuffle.partitions", 2)

    def test_verdicts_do_not_depend_on_partitions(self):
        records = made_documents()
        self.write(records)
        seen = []
        for partitions in (1, 4, 16):
            self.spark.conf.set("spark.sql.shuffle.partitions", partitions)
            places, verdicts, counts = self.cluster(self.spark, limits=FEW)
            self.check(verdicts, expected(tuple(records)))
            self.assertEqual(places, list(range(len(records))))
            seen.append(counts)
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])
        self.assertTrue(seen[0]["rounds"] == 3 and seen[0]["decided by one process"] > 10, seen)

    def test_one_process_decides_a_small_corpus_at_once(self):
        records = made_documents()
        self.write(records)
        _, verdicts, counts = self.cluster(self.spark)
        self.check(verdicts, expected(tuple(records)))
        self.assertEqual(counts["rounds"], 0)

    def test_documents_that_share_nothing_found_clusters(self):
        records = [worlds.record(0, None), *worlds.crowd(1, alike=True)]
        self.write(records)
        _, verdicts, counts = self.cluster(self.spark)
        self.check(verdicts, expected(tuple(records)))
        self.assertEqual((counts["clusters"], counts["pairs"]), (1, 0))

    def test_a_column_orders_the_documents(self):
        records = worlds.world(5)
        order = random.Random(1).sample(range(5_000), len(records))
        self.write(records, n=order)
        in_order = [record for _, record in sorted(zip(order, records))]
        places, verdicts, _ = self.cluster(self.spark, order="n")
        self.assertEqual(places, sorted(order))
        # The id of a cluster is the place of its founder.
        number = {f"{place:016x}": f"{at:016x}" for at, place in enumerate(sorted(order))}
        verdicts = [{**verdict, "cluster_id": number.get(verdict["cluster_id"])} for verdict in verdicts]
        self.check(verdicts, expected(tuple(in_order)))

    def test_an_order_that_is_none_is_refused(self):
        self.write(worlds.world(6, 9), n=[1, 2, 3, 4, 5, 5, 5, None, 8], text=["a"] * 9)
        for column, said in [("n", "1 nulls and 2 repeated values"), ("text", "has the type string"), ("other", "is missing")]:
            with self.assertRaisesRegex(ValueError, said):
                self.cluster(self.spark, order=column)

    def test_an_existing_folder_is_refused(self):
        """With `--work .`, results could overwrite a folder of documents."""
        self.write(worlds.world(6, 9))
        for name in ("out", "work"):
            with self.subTest(name):
                folder = self.folder / name
                (folder / "documents").mkdir(parents=True)
                with self.assertRaisesRegex(ValueError, f"{name} exists already"):
                    leitong.spark.cluster(self.spark, str(self.folder / "records"), str(self.folder / "out"), work=str(self.folder / "work"))
                self.assertEqual([path.name for path in folder.iterdir()], ["documents"])
                shutil.rmtree(folder)

    def test_more_founders_than_the_table_holds_are_refused(self):
        self.write(worlds.crowd(30, alike=False))
        with self.assertRaisesRegex(ValueError, r"30 centroids, more than expiry.centroids_max \(29\)"):
            self.cluster(self.spark, toml="[expiry]\ncentroids_max = 29")
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(self.cluster(self.spark, toml="[expiry]\ncentroids_max = 30")[2]["clusters"], 30)
        self.write(worlds.crowd(30, alike=True))
        with self.assertRaisesRegex(ValueError, r"29 texts .*, more than expiry.centroids_max \(28\)"):
            self.cluster(self.spark, toml="[expiry]\ncentroids_max = 28")

    @unittest.skipUnless(DATA.is_dir(), "LEITONG_DATA does not name a folder of labelled sets")
    def test_labelled_sets(self):
        fingerprinter = leitong.Fingerprinter()
        names = [name for kind in ("neardup_*", "real_*", "shells_*", "templates_*") for name in DATA.glob(f"{kind}.jsonl.gz")]
        self.assertTrue(names)
        for name in sorted(names):
            with self.subTest(name.name), gzip.open(name, "rt", encoding="utf-8") as lines:
                pages = [json.loads(line) for line in lines]
                records = fingerprinter.records([{key: page[key] for key in ("id", "url", "html", "text", "title") if page.get(key)} for page in pages])
                self.write(records)
                _, verdicts, counts = self.cluster(self.spark, limits=rounds.Limits(window=8, left=0))
                self.check(verdicts, expected(tuple(records)))
                print(f"{name.name}: {counts}", file=sys.stderr)


class OnSeveralJvms(Clustering):
    def test_a_killed_executor_changes_nothing(self):
        records = made_documents()
        self.write(records)
        killed = self.folder / "killed"
        right = steps.lists

        def lists(settings, window, rest):
            """The step, whose first run kills the executor that runs it."""

            def step(batches):
                # The parent of this process has forked it for the executor.
                executor = int(pathlib.Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")")[-1].split()[1])
                if b"CoarseGrainedExecutorBackend" not in pathlib.Path(f"/proc/{executor}/cmdline").read_bytes():
                    raise RuntimeError("an executor should be here")
                try:
                    killed.touch(exist_ok=False)
                except FileExistsError:
                    yield from right(settings, window, rest)(batches)
                else:
                    os.kill(executor, 9)
                    yield from iter(())

            return step

        options = {"spark__sql__shuffle__partitions": 4, "spark__executorEnv__PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        spark = session("local-cluster[2,1,1024]", **options)
        self.addCleanup(spark.stop)
        steps.lists = lists
        try:
            _, verdicts, _ = self.cluster(spark, limits=FEW)
        finally:
            steps.lists = right
        self.assertTrue(killed.exists())
        self.check(verdicts, expected(tuple(records)))


if __name__ == "__main__":
    unittest.main()
