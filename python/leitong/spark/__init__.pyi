from collections.abc import Sequence
from typing import Any

__all__ = ["cluster", "main"]

def cluster(
    spark: Any, records: str, out: str, *, work: str | None = None, toml: str | None = None, order: str | None = None
) -> dict[str, int]: ...
def main(arguments: Sequence[str] | None = None) -> None: ...
