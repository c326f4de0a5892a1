"""Clustering in rounds: which documents found clusters, and which clusters the others join.

One process takes the documents in their order. A document with the text of an earlier one joins its cluster. Any other joins
the nearest founder that is near, or founds a cluster. So the first documents of all texts matter (the *leaders*), and
the founders among them are the lexicographically first maximal independent set of the relation "near". Leaders are near or
related only if they share a key, so each key has a list of leaders.

A round compares the first documents of each list that are still open, the *window*. A document founds a cluster if it is in the
window of all its lists and no earlier open document is near. Then the new founders are compared with all later documents outside
of the window, and documents that are near one are no longer open. The window doubles with each round. In the end, one process
decides the documents that are still open, in order.

Every result of a round is a folder of Parquet files. So Spark repeats only the work of a lost task, with the same result.
"""

from __future__ import annotations

import typing
import urllib.parse

from pyspark.errors import AnalysisException
from pyspark.sql import Window
from pyspark.sql import functions as F

from . import _steps as steps


class Limits(typing.NamedTuple):
    """Limits of the rounds. Verdicts do not depend on them."""

    # Number of undecided documents of each list that are compared with one another in the first
    # round. Each round doubles it.
    window: int = 64
    # Maximum of that number.
    window_max: int = 65_536
    # Maximum number of rounds.
    rounds: int = 20
    # The rounds end when at most this many documents are undecided. One process decides these.
    left: int = 100_000


def cluster(spark, records, out, work, toml, order, limits=Limits()):
    """Clusters the records in the folder `records`; see `leitong.spark.cluster`."""
    # Refuses settings before anything is read.
    settings = steps.Settings.of(toml)
    centroids_max = steps.clustering(settings).centroids_max
    work = work or f"{out.rstrip('/')}.work"
    for folder in (out, work):
        _check_absent(spark, folder)
    folder = _Folder(spark, work)
    numbered = _by_column(spark, records, order) if order else _by_file(spark, records)
    documents = folder.save("documents", numbered.mapInArrow(steps.read(settings), steps.DOCUMENTS))
    total, saved = numbered.count(), documents.count()
    if saved != total:
        raise RuntimeError(f"{work} has {saved:,} of {total:,} documents; use a folder that all machines share")
    texts = documents.where("text is not null").withColumn("leader", F.min("place").over(Window.partitionBy("text")))
    grouped = folder.save("texts", texts.select("place", "leader", F.when(F.col("place") == F.col("leader"), F.col("form")).alias("form")))
    leaders = grouped.where("form is not null").select("place", "form")
    contested = _contested(folder, leaders, settings)
    founders, found, counts = _founders(folder, contested, settings, limits)
    alone = leaders.join(contested.select("place"), "place", "left_anti").select("place")
    founders = folder.save("founders", alone.unionByName(founders))
    decided = folder.save("decided", _decided(leaders, founders, found, settings))
    roles = {row["role"]: row["count"] for row in decided.groupBy("role").count().collect()}
    for role, what in ((steps.FOUNDER, "centroids"), (steps.JOINED, "texts of documents that joined clusters")):
        if roles.get(role, 0) > centroids_max:
            raise ValueError(
                f"there are {roles[role]:,} {what}, more than expiry.centroids_max ({centroids_max:,}), so one process would evict "
                "some; raise expiry.centroids_max, which does not change fingerprints"
            )
    _write(numbered, documents, grouped, decided, settings, out)
    written = spark.read.parquet(out).count()
    if written != total:
        raise RuntimeError(f"{written:,} verdicts on {total:,} documents were written to {out}; the records probably changed during the run, so run it again")
    texts = leaders.count()
    counts = {"documents": total, "texts": texts, "texts that share a key": contested.count(), **counts}
    return {**counts, "clusters": roles.get(steps.FOUNDER, 0), "near": roles.get(steps.JOINED, 0)}


def _check_absent(spark, folder):
    """Raises ValueError if a folder exists, since nothing may be overwritten."""
    try:
        spark.read.format("binaryFile").load(folder)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
    else:
        raise ValueError(f"{folder} exists already; name another folder, or delete it")


class _Folder:
    """The folder of intermediate results."""

    def __init__(self, spark, folder):
        self.spark, self.folder = spark, folder

    def save(self, name, frame):
        frame.write.parquet(f"{self.folder}/{name}")
        return self.spark.read.schema(frame.schema).parquet(f"{self.folder}/{name}")


def _by_file(spark, records):
    """Returns the records with their places: file by file, in the order of the files' names, and row by row."""
    rows = spark.read.parquet(records).select(
        F.col("_metadata.file_path").alias("file"), F.col("_metadata.row_index").alias("row"), "record"
    )
    begins, begin = [], 0
    for file, count in sorted(rows.groupBy("file").count().collect(), key=lambda row: urllib.parse.unquote(row["file"])):
        begins.append((file, begin))
        begin += count
    begins = F.broadcast(spark.createDataFrame(begins, "file string, begin long"))
    return rows.join(begins, "file").select((F.col("begin") + F.col("row")).alias("place"), "record")


def _by_column(spark, records, order):
    """Returns the records with their places, which are the values of a column."""
    rows = spark.read.parquet(records)
    kind = dict(rows.dtypes).get(order)
    if kind not in ("bigint", "int", "smallint", "tinyint"):
        raise ValueError(f"the column {order} {'is missing' if kind is None else f'has the type {kind}'}: it must have integers")
    rows = rows.select(F.col(order).cast("long").alias("place"), "record")
    seen = rows.agg(F.count("*"), F.count("place"), F.countDistinct("place"), F.min("place")).first()
    if len(set(seen[:3])) > 1 or (seen[3] or 0) < 0:
        raise ValueError(
            f"the column {order} has {seen[0] - seen[1]:,} nulls and {seen[1] - seen[2]:,} repeated values, and begins at {seen[3]}: "
            "each record needs its own number, 0 or greater"
        )
    return rows


def _contested(folder, leaders, settings):
    """Returns the leaders that share a key with other leaders, with their shared keys."""
    keys = leaders.mapInArrow(steps.keys(settings), steps.KEYS)
    shared = keys.withColumn("count", F.count("*").over(Window.partitionBy("key"))).where("count > 1")
    of_each = shared.groupBy("place").agg(F.collect_list("key").alias("keys"))
    return folder.save("contested", leaders.join(of_each, "place"))


def _by_key(lists):
    return lists.repartition("key").sortWithinPartitions("key", "place")


def _founders(folder, contested, settings, limits):
    """Returns the founders among the contested leaders, the pairs of founders and later documents, and counts."""
    still_open, window, number = contested.select("place"), limits.window, 0
    founders, found, looked_at = still_open.limit(0), None, 0
    left = still_open.count()

    def outside(name, marked, keys, window, inside):
        lists = marked.select(F.explode("keys").alias("key"), "place", "form", "mark")
        lists = lists if keys is None else lists.join(keys, "key", "left_semi")
        rest = _by_key(lists.select("key", "place", "form", "mark")).mapInArrow(steps.lists(settings, window, True), steps.PAIRS)
        return folder.save(name, rest if inside is None else rest.unionByName(inside))

    while left > limits.left and number < limits.rounds:
        name = f"round-{number + 1:02}"
        lists = contested.join(still_open, "place", "left_semi").select(F.explode("keys").alias("key"), "place", "form")
        pairs = folder.save(f"{name}/window", _by_key(lists).mapInArrow(steps.lists(settings, window, False), steps.PAIRS))
        waiting = pairs.where(F.col("kind").isin(steps.NEAR, steps.BEYOND)).select(F.col("later").alias("place")).distinct()
        new = folder.save(f"{name}/founders", still_open.join(waiting, "place", "left_anti"))
        if number == 0:
            # All documents of the other lists were in the window.
            keys = pairs.where(F.col("kind") == steps.BEYOND).select(F.col("earlier").alias("key")).distinct()
        else:
            keys = contested.join(new, "place", "left_semi").select(F.explode("keys").alias("key")).distinct()
        inside = pairs.where(F.col("kind").isin(steps.NEAR, steps.RELATED))
        inside = inside.join(new.select(F.col("place").alias("earlier")), "earlier", "left_semi").select(*pairs.columns)
        of_round = outside(f"{name}/found", _marked(contested, still_open, new), keys, window, inside)
        near = of_round.where(F.col("kind") == steps.NEAR).select(F.col("later").alias("place")).distinct()
        still_open = folder.save(f"{name}/open", still_open.join(new, "place", "left_anti").join(near, "place", "left_anti"))
        founders, found = founders.unionByName(new), of_round if found is None else found.unionByName(of_round)
        looked_at += _count(pairs) + _count(of_round)
        left, window, number = still_open.count(), min(2 * window, limits.window_max), number + 1
    if left:
        rest = contested.join(still_open, "place", "left_semi").select("place", "form")
        one = rest.repartition(1).sortWithinPartitions("place").mapInArrow(steps.in_order(settings), steps.PLACES)
        new = folder.save("left/founders", one)
        keys = contested.join(new, "place", "left_semi").select(F.explode("keys").alias("key")).distinct()
        of_rest = outside("left/found", _marked(contested, still_open.limit(0), new), keys, 0, None)
        founders, found = founders.unionByName(new), of_rest if found is None else found.unionByName(of_rest)
        looked_at += _count(of_rest)
    return founders, found, {"rounds": number, "decided by one process": left, "pairs": looked_at}


def _marked(contested, still_open, new):
    """Returns the contested leaders with marks that say which were open and which are new founders."""
    was_open = still_open.withColumn("was_open", F.lit(steps.WAS_OPEN))
    is_new = new.withColumn("is_new", F.lit(steps.IS_NEW))
    mark = (F.coalesce("was_open", F.lit(0)) + F.coalesce("is_new", F.lit(0))).cast("byte")
    return contested.join(was_open, "place", "left").join(is_new, "place", "left").withColumn("mark", mark)


def _count(pairs):
    return pairs.where(F.col("kind") == steps.COUNT).agg(F.sum("earlier")).first()[0] or 0


def _decided(leaders, founders, found, settings):
    """Returns the role of each leader, and the page that its verdict names."""
    first = F.min(F.struct("rank", "earlier")).getField("earlier")

    def nearest(kind, name):
        if found is None:
            return founders.limit(0).withColumn(name, F.lit(None).cast("long"))
        return found.where(F.col("kind") == kind).groupBy(F.col("later").alias("place")).agg(first.alias(name))

    joined = nearest(steps.NEAR, "other").select("place", F.lit(steps.JOINED).cast("byte").alias("role"), "other")
    of_articles = leaders.join(founders, "place", "left_semi").mapInArrow(steps.articles(settings), steps.ARTICLES)
    before = Window.partitionBy("article").orderBy("place")
    pairs = of_articles.select(
        "place", "form", F.lag("place").over(before).alias("other"), F.lag("form").over(before).alias("other_form")
    ).where("other is not null")
    part = pairs.mapInArrow(steps.parts(settings), steps.PARTS)
    founded = founders.join(nearest(steps.RELATED, "related"), "place", "left").join(part, "place", "left")
    founded = founded.select("place", F.lit(steps.FOUNDER).cast("byte").alias("role"), F.coalesce("part", "related").alias("other"))
    return founded.unionByName(joined)


def _write(numbered, documents, grouped, decided, settings, out):
    """Writes the verdicts."""
    of_leader = decided.select(F.col("place").alias("leader"), F.col("role").alias("leader_role"), F.col("other").alias("leader_other"))
    leads = F.col("place") == F.col("leader")
    founder = F.when(F.col("leader_role") == steps.FOUNDER, F.col("leader")).otherwise(F.col("leader_other"))
    decidable = grouped.join(of_leader, "leader").select(
        "place",
        F.when(leads, F.col("leader_role")).otherwise(F.lit(steps.KNOWN_TEXT)).cast("byte").alias("role"),
        F.when(leads, F.col("leader_other")).otherwise(founder).alias("other"),
    )
    undecidable = documents.where("text is null").select(
        "place", F.lit(steps.UNDECIDABLE).cast("byte").alias("role"), F.lit(None).cast("long").alias("other")
    )
    others = numbered.select(F.col("place").alias("other"), F.col("record").alias("other_record"))
    rows = decidable.unionByName(undecidable).join(numbered, "place").join(others, "other", "left")
    rows = rows.select("place", "role", "record", "other", "other_record")
    rows.mapInArrow(steps.verdicts(settings), steps.VERDICT_COLUMNS).write.parquet(out)
