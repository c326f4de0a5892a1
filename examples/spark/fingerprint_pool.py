"""The map step on one machine without an engine: a pool of processes writes a file of records for each file of documents.

usage: fingerprint_pool.py OUT PROCESSES DOCUMENTS.parquet...

Columns are `id`, `text` and, if there is one, `url`. Existing files are not written again, so a stopped run can be continued.
"""

import multiprocessing
import os
import pathlib
import sys

import pyarrow.parquet
from leitong_steps import RECORDS, map_step


def fingerprint(paths):
    source, target = paths
    with pyarrow.parquet.ParquetFile(source) as documents:
        columns = [name for name in ("id", "text", "url") if name in documents.schema_arrow.names]
        step = map_step({name: name for name in columns})
        with pyarrow.parquet.ParquetWriter(f"{target}.part", RECORDS) as out:
            for batch in step(documents.iter_batches(batch_size=2_000, columns=columns)):
                out.write_batch(batch)
    os.replace(f"{target}.part", target)


def main(out, processes, *documents):
    os.makedirs(out, exist_ok=True)
    # In the order of their names, in which the records are read later.
    files = sorted(pathlib.Path(document) for document in documents)
    jobs = [(file, pathlib.Path(out) / file.name) for file in files]
    if len({target for _, target in jobs}) < len(jobs):
        raise SystemExit("two files have one name: put them into two runs")
    with multiprocessing.Pool(int(processes)) as pool:
        for _ in pool.imap_unordered(fingerprint, [job for job in jobs if not job[1].exists()]):
            pass


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(*sys.argv[1:])
