"""The steps of clustering as functions from Arrow batches to Arrow batches, for `mapInArrow`; any engine can run them.

Each function returns such a step, for `Settings`. Everything is compared in the compiled part of the package
(`python/src/clustering`); this module only converts columns. The same input gives the same output, so an engine may repeat a step.
"""

from __future__ import annotations

import functools
import json
import typing

import pyarrow
import pyarrow.compute

from leitong._native import Clustering

NEAR, RELATED, BEYOND, COUNT = range(4)
UNDECIDABLE, FOUNDER, JOINED, KNOWN_TEXT = range(4)
WAS_OPEN, IS_NEW = 1, 2

# Columns of each step's output, with types as Spark names them.
DOCUMENTS = "place long, text binary, form binary"
KEYS = "key long, place long"
PAIRS = "later long, earlier long, rank long, kind byte"
PLACES = "place long"
ARTICLES = "article binary, place long, form binary"
PARTS = "place long, part long"
VERDICTS = {
    "page_id": "string",
    "url": "string",
    "kind": "string",
    "reason": "string",
    "same_url": "boolean",
    "canonical_page_id": "string",
    "canonical_url": "string",
    "cluster_id": "string",
    "relation": "string",
    "share": "double",
    "canonical_share": "double",
    "distance": "double",
    "similarity": "double",
    "related_page_id": "string",
    "related_url": "string",
}
VERDICT_COLUMNS = "place long, is_duplicate boolean, " + ", ".join(f"{name} {kind}" for name, kind in VERDICTS.items())
_ARROW = {"string": pyarrow.string(), "boolean": pyarrow.bool_(), "double": pyarrow.float64()}


class Settings(typing.NamedTuple):
    """The settings of all processes."""

    # Text of a leitong.toml, or None.
    toml: str | None
    # Hash of the settings in the first process. A process with another version of the package, or another environment, has
    # another hash.
    settings_hash: str

    @classmethod
    def of(cls, toml):
        """Returns settings, after a check that verdicts cannot differ from those of one process."""
        return cls(toml, Clustering(toml=toml).settings_hash)


@functools.cache
def clustering(settings):
    """Returns the settings and the comparison, one per process."""
    made = Clustering(toml=settings.toml)
    if made.settings_hash != settings.settings_hash:
        raise ValueError(
            f"this machine has the settings {made.settings_hash}, the one that began has {settings.settings_hash}: every machine "
            "needs the same version of leitong, and the same files and environment variables that the settings name"
        )
    return made


def read(settings):
    """Step that reads `place` and `record`, and gives `place`, `text` (the key of the text) and `form`.

    `text` and `form` are null if the document is undecidable.
    """

    def step(batches):
        for batch in batches:
            flags, texts, forms = clustering(settings).read(batch.column("record").to_pylist())
            count, numbers = 0, []
            for flag in flags:
                numbers.append(count if flag else None)
                count += flag
            numbers = pyarrow.array(numbers, pyarrow.int64())
            columns = [_parts(texts, count).take(numbers), _parts(forms, count).take(numbers)]
            yield _batch([batch.column("place"), *columns], ["place", "text", "form"])

    return step


def keys(settings):
    """Step that reads `place` and `form`, and gives `key` and `place`: a row for each key of each document."""

    def step(batches):
        for batch in batches:
            counts, made = clustering(settings).keys(_bytes(batch.column("form")), batch.num_rows)
            rows = [row for row, count in enumerate(_longs(counts).to_pylist()) for _ in range(count)]
            yield _batch([_longs(made), batch.column("place").take(pyarrow.array(rows, pyarrow.int64()))], ["key", "place"])

    return step


def lists(settings, window, rest):
    """Step that reads `key`, `place`, `form` (and `mark`, if `rest` is true), sorted, and gives pairs.

    At the end it gives a row with the number of pairs compared.
    """

    def step(batches):
        compared = clustering(settings).lists(window, rest)
        for batch in batches:
            marks = _numbers(batch.column("mark"), 1) if rest else b""
            numbers = (_numbers(batch.column(name), 8) for name in ("key", "place"))
            yield _pairs(*compared.feed(*numbers, _bytes(batch.column("form")), marks))
        count = [number.to_bytes(8, "little") for number in (0, compared.looked_at, 0)]
        yield _pairs(*count, bytes([COUNT]))

    return step


def in_order(settings):
    """Step that reads `place` and `form`, sorted and in one piece, and gives the places of the founders."""

    def step(batches):
        founders = clustering(settings).in_order()
        for batch in batches:
            places = founders.feed(_numbers(batch.column("place"), 8), _bytes(batch.column("form")))
            yield _batch([_longs(places)], ["place"])

    return step


def articles(settings):
    """Step that reads `place` and `form`, and gives `article`, `place` and `form`.

    It gives them for the pages that are parts of articles.
    """

    def step(batches):
        for batch in batches:
            found = clustering(settings).articles(_bytes(batch.column("form")), batch.num_rows)
            rows = [row for row, article in enumerate(found) if article is not None]
            article = pyarrow.array([found[row] for row in rows], pyarrow.binary())
            rows = pyarrow.array(rows, pyarrow.int64())
            yield _batch([article, batch.column("place").take(rows), batch.column("form").take(rows)], ["article", "place", "form"])

    return step


def parts(settings):
    """Step that reads `place`, `form`, `other` and `other_form`, and gives `place` and `part`.

    It gives them for rows whose two pages are parts of one article.
    """

    def step(batches):
        for batch in batches:
            forms = [_bytes(batch.column(name)) for name in ("form", "other_form")]
            found = clustering(settings).parts(*forms, batch.num_rows)
            rows = pyarrow.array([row for row, flag in enumerate(found) if flag], pyarrow.int64())
            yield _batch([batch.column("place").take(rows), batch.column("other").take(rows)], ["place", "part"])

    return step


def verdicts(settings):
    """Step that reads `place`, `role`, `record`, `other` and `other_record`, and gives verdicts."""

    def step(batches):
        for batch in batches:
            if batch.column("other").null_count != batch.column("other_record").null_count:
                raise ValueError("a record is missing; the records probably changed during the run, so run it again")
            other = pyarrow.compute.fill_null(batch.column("other"), 0)
            made = clustering(settings).verdicts(
                batch.column("record").to_pylist(),
                _numbers(batch.column("place"), 8),
                _numbers(batch.column("role"), 1),
                batch.column("other_record").to_pylist(),
                _numbers(other, 8),
            )
            rows = [json.loads(verdict.to_json()) for verdict in made]
            columns = [pyarrow.array([row[name] for row in rows], _ARROW[kind]) for name, kind in VERDICTS.items()]
            is_duplicate = pyarrow.array([verdict.is_duplicate for verdict in made], pyarrow.bool_())
            yield _batch([batch.column("place"), is_duplicate, *columns], ["place", "is_duplicate", *VERDICTS])

    return step


def _batch(columns, names):
    return pyarrow.record_batch(columns, names=names)


def _pairs(later, earlier, rank, kind):
    kind = pyarrow.Array.from_buffers(pyarrow.int8(), len(kind), [None, pyarrow.py_buffer(kind)])
    return _batch([_longs(later), _longs(earlier), _longs(rank), kind], ["later", "earlier", "rank", "kind"])


def _longs(numbers):
    return pyarrow.Array.from_buffers(pyarrow.int64(), len(numbers) // 8, [None, pyarrow.py_buffer(numbers)])


def _parts(column, count):
    """Returns the bytes of a column as an array of `count` values of equal length."""
    width = len(column) // max(count, 1)
    fixed = pyarrow.Array.from_buffers(pyarrow.binary(width), count, [None, pyarrow.py_buffer(column)])
    return fixed.cast(pyarrow.binary())


def _numbers(array, width):
    """Returns the numbers of an array, of `width` bytes each, as bytes."""
    if array.null_count:
        raise ValueError("a column of numbers has nulls")
    if len(array) == 0:
        return b""
    return bytes(memoryview(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width])


def _bytes(array):
    """Returns the values of an array of byte strings, one after the other."""
    if array.null_count:
        raise ValueError("a column of forms has nulls")
    if len(array) == 0:
        return b""
    ends = memoryview(array.buffers()[1]).cast("B").cast("q" if pyarrow.types.is_large_binary(array.type) else "i")
    return bytes(memoryview(array.buffers()[2])[ends[array.offset] : ends[array.offset + len(array)]])
