"""Leitong (雷同): is this page new, or a near-duplicate of an earlier one?

    >>> import leitong
    >>> deduplicator = leitong.Deduplicator()
    >>> verdict = deduplicator.decide("A text of sixty letters or more, since shorter ones cannot be told apart.")
    >>> verdict.kind
    'UNIQUE'

Pages are texts, or dicts with "text" or "html" and optional fields. Verdicts and fingerprints equal
those of the program `leitong`, which is part of this package.
"""

from __future__ import annotations

import itertools
import signal
import sys

from ._native import Deduplicator as _Deduplicator
from ._native import Document, Fingerprinter, LogSource, Table, Verdict, extract
from ._native import items as _items
from ._native import run as _run

__all__ = ["Deduplicator", "Document", "Fingerprinter", "LogSource", "Table", "Verdict", "extract", "fingerprint"]


class Deduplicator(_Deduplicator):
    """Decides for one page after another whether it is new or a near-duplicate of an earlier one.

    `config` is the path of a leitong.toml, `toml` the text of one. With a `table` it starts from what
    was saved there; `table.on_disk` needs one.
    """

    def decide_batch(self, pages):
        """Returns the verdicts on many pages, in the order of the pages. Reads their texts on all cores.

        Takes anything that can be iterated, Arrow arrays and tables, and the frames of pandas and polars.
        """
        return super().decide_batch(_listed(pages))

    def verdicts(self, pages, batch_size=1000):
        """Yields the verdict on each page, batch by batch; only one batch is in memory."""
        for batch in _batches(pages, batch_size):
            yield from super().decide_batch(batch)

    def unique(self, pages, batch_size=1000):
        """Yields the pages that are not duplicates of earlier ones, unchanged."""
        for batch in _batches(pages, batch_size):
            for page, verdict in zip(batch, super().decide_batch(batch)):
                if not verdict.is_duplicate:
                    yield page


def fingerprint(page):
    """Returns the fingerprint of a page, with the default settings; None if there is too little to compare."""
    global _default
    if _default is None:
        _default = Fingerprinter()
    return _default.fingerprint(page)


_default = None


def _listed(pages):
    # Arrow arrays and tables, and the frames of polars and pandas, convert to texts and dicts.
    if hasattr(pages, "to_pylist"):
        return pages.to_pylist()
    if hasattr(pages, "to_dicts"):
        return pages.to_dicts()
    return pages.to_dict("records") if _is_frame(pages) else pages


def _is_frame(pages):
    return hasattr(pages, "columns") and (hasattr(pages, "to_dicts") or hasattr(pages, "to_dict"))


def _batches(pages, size):
    if size < 1:
        raise ValueError(f"batch_size = {size}: must be 1 or more")
    if hasattr(pages, "to_batches"):  # an Arrow table or dataset
        for batch in pages.to_batches(max_chunksize=size) if hasattr(pages, "to_pylist") else pages.to_batches():
            yield from _batches(batch.to_pylist(), size)
        return
    if _is_frame(pages):
        for start in range(0, len(pages), size):
            yield _listed(pages[start : start + size])
        return
    pages = _items(_listed(pages))
    while batch := list(itertools.islice(pages, size)):
        yield batch


def main():
    """Runs the command `leitong`."""
    # Ctrl-C ends the program as it would without Python.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_run(sys.argv))
