"""Leitong as steps of a datatrove pipeline, in the place of its MinHash steps.

In one task, `Deduplicate` is all there is:

    LocalPipelineExecutor([JsonlReader("pages"), Deduplicate(), JsonlWriter("kept")], tasks=1)

With many tasks, each makes the fingerprints of its documents, one task decides on all of them, and datatrove's own filter
removes them. The order of documents is that of the tasks, so both ways keep the same ones:

    LocalPipelineExecutor([JsonlReader("pages"), Fingerprints("fingerprints")], tasks=8)
    LocalPipelineExecutor([Cluster("fingerprints", "remove")], tasks=1)
    LocalPipelineExecutor([JsonlReader("pages"), MinhashDedupFilter("remove"), JsonlWriter("kept")], tasks=8)
"""

from __future__ import annotations

import contextlib
import itertools
import struct

from datatrove.io import get_datafolder
from datatrove.pipeline.base import PipelineStep
from datatrove.utils.typeshelper import StatHints

from . import Deduplicator, Fingerprinter

__all__ = ["Cluster", "Deduplicate", "Fingerprints"]

# Documents that are read at a time, on all cores.
_BATCH = 1000
# How files hold a number: that of a record's bytes, before it; or that of a removed document, as datatrove reads it.
_NUMBER = struct.Struct("<I")


class Deduplicate(PipelineStep):
    """Forwards the documents that are not duplicates of earlier ones.

    `config` is the path of a leitong.toml, `toml` the text of one. `exclusion_writer` writes the duplicates, with
    `leitong_kind` and `leitong_canonical` (the id of the document that each repeats) in their metadata.
    """

    type = "🫂 - DEDUP"
    name = "🀄 Leitong"

    def __init__(self, config=None, *, toml=None, exclusion_writer=None):
        super().__init__()
        self.settings = {"config": config, "toml": toml}
        self.exclusion_writer = exclusion_writer

    def run(self, data, rank=0, world_size=1):
        if world_size != 1:
            raise ValueError(
                f"Deduplicate compares the documents of one task, and this pipeline has {world_size}: "
                "use Fingerprints, Cluster and MinhashDedupFilter instead"
            )
        deduplicator, numbers = Deduplicator(**self.settings), itertools.count()
        with self.exclusion_writer or contextlib.nullcontext() as excluded:
            for batch in _batches(data):
                with self.track_time(unit="batch"):
                    verdicts = deduplicator.decide_batch([_page(document, rank, next(numbers)) for document in batch])
                for document, verdict in zip(batch, verdicts):
                    self.stat_update(StatHints.total, verdict.kind)
                    if not verdict.is_duplicate:
                        self.stat_update(StatHints.forwarded)
                        yield document
                        continue
                    self.stat_update(StatHints.dropped)
                    if excluded:
                        document.metadata["leitong_kind"] = verdict.kind
                        document.metadata["leitong_canonical"] = verdict.canonical_page_id
                        excluded.write(document, rank)


class Fingerprints(PipelineStep):
    """Writes a record for each document into a file per task, and forwards the documents."""

    type = "🫂 - DEDUP"
    name = "🀄 Leitong stage 1"

    def __init__(self, output_folder, config=None, *, toml=None):
        super().__init__()
        self.folder = get_datafolder(output_folder)
        self.settings = {"config": config, "toml": toml}

    def run(self, data, rank=0, world_size=1):
        fingerprinter, numbers = Fingerprinter(**self.settings), itertools.count()
        with self.folder.open(f"{rank:06d}.records", "wb") as file:
            for batch in _batches(data):
                with self.track_time(unit="batch"):
                    pages = [_page(document, rank, next(numbers)) for document in batch]
                    for record in fingerprinter.records(pages):
                        file.write(_NUMBER.pack(len(record)) + record)
                self.stat_update(StatHints.total, value=len(batch))
                yield from batch


class Cluster(PipelineStep):
    """Decides on the records of all tasks, and writes for each which of its documents `MinhashDedupFilter` removes.

    `config` and `toml` must be those of `Fingerprints`.
    """

    type = "🫂 - DEDUP"
    name = "🀄 Leitong stage 2"

    def __init__(self, input_folder, output_folder, config=None, *, toml=None):
        super().__init__()
        self.records, self.removed = get_datafolder(input_folder), get_datafolder(output_folder)
        self.settings = {"config": config, "toml": toml}

    def run(self, data=None, rank=0, world_size=1):
        if world_size != 1:
            raise ValueError(f"Cluster decides in the order of all documents: run it in one task, not in {world_size}")
        tasks = self.records.list_files(glob_pattern="*.records")
        if not tasks:
            raise FileNotFoundError(f"{self.records.path}: there are no records; run Fingerprints first")
        deduplicator = Deduplicator(**self.settings)
        for task in tasks:
            name = task.removesuffix(".records") + ".remove"
            with self.records.open(task, "rb") as file, self.removed.open(name, "wb") as removed:
                numbers = itertools.count()
                for batch in _batches(_records(file, task)):
                    with self.track_time(unit="batch"):
                        verdicts = deduplicator.decide_records(batch)
                    for verdict, number in zip(verdicts, numbers):
                        self.stat_update(StatHints.total, verdict.kind)
                        if verdict.is_duplicate:
                            self.stat_update("to_remove")
                            removed.write(_NUMBER.pack(number))
        yield from data or ()


def _batches(items):
    items = iter(items)
    while batch := list(itertools.islice(items, _BATCH)):
        yield batch


def _page(document, rank, number):
    # Most readers name each document; one without a name has that of its place.
    return {"text": document.text, "id": document.id or f"{rank}/{number}", "url": document.metadata.get("url")}


def _records(file, name):
    while head := file.read(_NUMBER.size):
        length = _NUMBER.unpack(head)[0] if len(head) == _NUMBER.size else 0
        record = file.read(length)
        if not record or len(record) != length:
            raise ValueError(f"{name} is cut short: run Fingerprints again")
        yield record
