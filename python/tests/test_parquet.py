"""`examples/parquet/dedup_parquet.py` compared with a naive reading of the same files."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import leitong
import pyarrow
import pyarrow.parquet

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "parquet" / "dedup_parquet.py"


def text(number):
    return f"{number * 7919} passengers crossed the strait on day {number}. " + " ".join(
        f"The harbour master wrote {(number + 3) * (word + 5) % 9973} into his book of {word} ships." for word in range(12)
    )


class Parquet(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        # Rows that repeat within a file and across files, some without a text, in several row groups.
        texts = [None if row % 29 == 7 else text(row * 5 % 83) for row in range(400)]
        table = pyarrow.table(
            {
                "n": pyarrow.array(range(400), pyarrow.int32()),
                "text": texts,
                "nested": [{"list": [row, row + 1]} for row in range(400)],
            }
        )
        self.tables = [table.slice(0, 250), table.slice(250)]
        (self.folder / "in").mkdir()
        for name, part in zip("ab", self.tables):
            pyarrow.parquet.write_table(part, self.folder / "in" / f"{name}.parquet", row_group_size=64)

    def run_example(self, *arguments):
        run = subprocess.run([sys.executable, EXAMPLE, *arguments], cwd=self.folder, capture_output=True, text=True)
        return run.returncode, run.stderr

    def written(self, folder, name):
        return pyarrow.parquet.read_table(self.folder / folder / f"{name}.parquet")

    def expected(self):
        deduplicator = leitong.Deduplicator()
        return [[deduplicator.decide({"text": value}) for value in part["text"].to_pylist()] for part in self.tables]

    def test_kept_rows_are_unchanged(self):
        status, said = self.run_example("--out", "kept", "--batch", "50", "in/a.parquet", "in/b.parquet")
        # 83 texts, and 14 rows without one, which are kept.
        self.assertEqual((status, said), (0, "400 rows, 303 duplicates\n"))
        for name, part, verdicts in zip("ab", self.tables, self.expected()):
            rows = [row for row, verdict in zip(part.to_pylist(), verdicts) if not verdict.is_duplicate]
            kept = self.written("kept", name)
            self.assertEqual((kept.to_pylist(), kept.schema), (rows, part.schema))

    def test_a_table_joins_two_runs_and_columns_are_added(self):
        for name in "ab":
            status, said = self.run_example("--out", "all", "--annotate", "--table", "state", f"in/{name}.parquet")
            self.assertEqual(status, 0, said)
        for name, part, verdicts in zip("ab", self.tables, self.expected()):
            written = self.written("all", name)
            self.assertEqual(written.column_names, [*part.column_names, "leitong_kind", "leitong_cluster", "leitong_canonical"])
            self.assertEqual(written.select(part.column_names).to_pylist(), part.to_pylist())
            self.assertEqual(written["leitong_kind"].to_pylist(), [verdict.kind for verdict in verdicts])

    def test_errors_say_what_is_wrong(self):
        for arguments, words in [
            (["--out", "out", "--text", "body", "in/a.parquet"], "a.parquet: has no column 'body'; it has n, text, nested"),
            (["--out", "in", "in/a.parquet"], "would be overwritten"),
        ]:
            status, said = self.run_example(*arguments)
            self.assertTrue(status != 0 and words in said, said)
        self.assertFalse(list(self.folder.glob("out/*.parquet")))


if __name__ == "__main__":
    unittest.main()
