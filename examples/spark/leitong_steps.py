"""Code shared by the programs of this folder: the map step, and the formats of its files and of verdicts.

The map step is a plain function from Arrow batches to Arrow batches, so any engine can run it.
"""

import functools
import os
import pathlib

# Each task has its own core; the engine runs as many tasks in parallel as there are cores.
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import leitong  # noqa: E402
import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402

RECORDS = pyarrow.schema([("page_id", pyarrow.string()), ("record", pyarrow.binary())])
VERDICTS = pyarrow.schema(
    [
        ("page_id", pyarrow.string()),
        ("kind", pyarrow.string()),
        ("is_duplicate", pyarrow.bool_()),
        ("canonical_page_id", pyarrow.string()),
        ("cluster_id", pyarrow.string()),
    ]
)


@functools.cache
def fingerprinter(toml):
    """Returns the fingerprinter, one per process: its dictionaries take a moment and some 100 MB."""
    return leitong.Fingerprinter(toml=toml)


def map_step(columns, toml=None, copied=()):
    """Returns the function from batches of documents to batches of records.

    `copied` names columns that the records get unchanged. `columns` maps fields to columns: {"id": …, "text": …}, or "html" instead of "text", and "url" if there is one.
    Every process needs the same settings (`toml`, the text of a leitong.toml) and the same version of Leitong.
    """

    def records(batches):
        for batch in batches:
            values = {field: batch.column(column).to_pylist() for field, column in columns.items()}
            values["id"] = [str(value) for value in values["id"]]
            pages = [dict(zip(values, row)) for row in zip(*values.values())]
            made = fingerprinter(toml).records(pages)
            made = pyarrow.record_batch([pyarrow.array(values["id"]), pyarrow.array(made, pyarrow.binary())], schema=RECORDS)
            for column in copied:
                made = made.append_column(column, batch.column(column))
            yield made

    return records


def batches(folder):
    """Yields all records of a folder as lists, in the order of its files and their rows, which is the order of the clustering."""
    files = sorted(pathlib.Path(folder).glob("*.parquet"))
    if not files:
        raise SystemExit(f"{folder}: has no Parquet files; make them with fingerprint.py or fingerprint_pool.py")
    for file in files:
        with pyarrow.parquet.ParquetFile(file) as source:
            for batch in source.iter_batches(batch_size=10_000, columns=["record"]):
                yield batch.column("record").to_pylist()


def count(folder):
    """Returns the number of records in a folder."""
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in pathlib.Path(folder).glob("*.parquet"))


class VerdictFile:
    """Writes verdicts, a batch at a time; the file gets its name once it is complete."""

    def __init__(self, path):
        self.path, self.rows = path, []

    def __enter__(self):
        self.writer = pyarrow.parquet.ParquetWriter(f"{self.path}.part", VERDICTS)
        return self

    def write(self, rows):
        self.rows.extend(rows)
        if len(self.rows) >= 50_000:
            self._flush()

    def _flush(self):
        columns = list(zip(*self.rows)) or [()] * len(VERDICTS)
        self.writer.write_batch(pyarrow.record_batch([pyarrow.array(c, f.type) for c, f in zip(columns, VERDICTS)], schema=VERDICTS))
        self.rows.clear()

    def __exit__(self, error, *_):
        if error is None:
            self._flush()
        self.writer.close()
        if error is None:
            os.replace(f"{self.path}.part", self.path)
