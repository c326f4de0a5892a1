"""Data frames, datasets and missing values, by the code of docs/python.md."""

import datetime
import pathlib
import re
import unittest

import datasets
import leitong
import pandas
import polars

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
ROW = {"text": None, "url": None, "status": None, "fetched_at": None}


def text(number):
    return " ".join(f"The harbour master wrote {(number + 3) * (word + 5) % 9973} into his book." for word in range(12))


def rows():
    # Each fourth text is there twice, some have no status, one has no text.
    texts = [text(number - number % 4 // 3) for number in range(40)]
    return [
        {**ROW, "text": each, "url": f"http://a.example/{number}", "status": [200, None][number % 5 == 0]}
        for number, each in enumerate(texts)
    ] + [{**ROW, "url": "http://a.example/none"}]


class Frames(unittest.TestCase):
    def test_the_code_of_the_docs_keeps_the_same_rows_of_each_kind(self):
        code = re.search(r"```python\n(def is_new.*?)```", DOCS.read_text("utf-8"), re.DOTALL)[1]
        names = {
            "leitong": leitong,
            "pandas_frame": pandas.DataFrame(rows()).convert_dtypes(),
            "polars_frame": polars.DataFrame(rows()),
            "dataset": datasets.Dataset.from_list(rows()),
        }
        exec(code, names)
        deduplicator = leitong.Deduplicator()
        kept = [row["url"] for row in rows() if not deduplicator.decide(row).is_duplicate]
        self.assertEqual(len(kept), 31)
        for name in ("pandas_frame", "polars_frame", "dataset"):
            self.assertEqual(list(names[name]["url"]), kept, name)

    def test_frames_are_read_in_batches_and_give_dicts(self):
        frame = pandas.DataFrame(rows())
        kept = [row["url"] for row in leitong.Deduplicator().unique(frame, batch_size=7)]
        self.assertEqual(kept, [row["url"] for row in leitong.Deduplicator().unique(rows())])
        polars_kept = leitong.Deduplicator().unique(polars.DataFrame(rows()), batch_size=7)
        self.assertEqual(kept, [row["url"] for row in polars_kept])

    def test_a_value_that_pandas_says_is_missing_is_absent(self):
        page = {"text": text(1), "url": pandas.NA, "status": float("nan"), "fetched_at": pandas.NaT, "title": pandas.NA}
        self.assertEqual(leitong.Deduplicator().decide(page).url, "document:0")
        self.assertEqual(leitong.Deduplicator().decide({"text": pandas.NA}).kind, "UNDECIDABLE")

    def test_an_array_is_not_taken_for_a_missing_value(self):
        with self.assertRaisesRegex(TypeError, "ndarray; give a str"):
            leitong.Deduplicator().decide({"text": pandas.Series(["a", "b"]).to_numpy()})

    def test_a_status_may_be_a_whole_float(self):
        found, gone = (leitong.Deduplicator().decide({"text": text(1), "status": status}) for status in (200.0, 404.0))
        self.assertEqual((found.kind, gone.kind), ("UNIQUE", "UNDECIDABLE"))
        with self.assertRaisesRegex(TypeError, "float; give an int"):
            leitong.Deduplicator().decide({"text": text(1), "status": 200.5})

    def test_times_without_a_zone_are_utc(self):
        naive = datetime.datetime(2026, 11, 29, 1, 2, 3)
        aware = naive.replace(tzinfo=datetime.timezone.utc)
        times = [naive, aware, pandas.Timestamp(naive), aware.astimezone(datetime.timezone(datetime.timedelta(hours=8)))]
        decide = leitong.Deduplicator().decide
        read = [decide({"text": text(1), "url": "http://a.example/", "fetched_at": time}).to_dict() for time in times]
        self.assertEqual({verdict["fetched_at"] for verdict in read}, {"2026-11-29T01:02:03.000Z"})


if __name__ == "__main__":
    unittest.main()
