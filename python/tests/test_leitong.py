"""The package gives the same verdicts as the program, bit for bit."""

import base64
import datetime
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import leitong

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(sys.executable).with_name("leitong")
NEWS = (
    "The ferry to the islands sails again from Monday on. The company has repaired the engine that failed in March, "
    "and adds a second sailing in the evening for those who work in town and want to be at home for the night."
)


def sample_pages():
    with open(ROOT / "examples" / "pages.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def command(*arguments, stdin=""):
    run = subprocess.run([COMMAND, *arguments], input=stdin, capture_output=True, text=True, cwd=ROOT)
    return run.returncode, run.stdout, run.stderr


def timeless(verdict):
    """Returns a verdict without the fields that differ between a file and a call."""
    return {name: value for name, value in verdict.items() if name not in ("decided_at", "source")}


def as_in_python(page):
    """Converts fields to the Python types that JSON lacks."""
    page = dict(page)
    if isinstance(page.get("fetched_at"), str):
        page["fetched_at"] = datetime.datetime.fromisoformat(page["fetched_at"].replace("Z", "+00:00"))
    if "html_b64" in page:
        page["html"] = base64.b64decode(page.pop("html_b64"))
    return page


class Verdicts(unittest.TestCase):
    def test_results_equal_those_of_the_program(self):
        pages = sample_pages()
        for page in pages:
            page.pop("passthrough", None)
        status, out, err = command("dedup", "-", stdin="".join(json.dumps(page) + "\n" for page in pages))
        self.assertEqual(status, 0, err)
        expected = [timeless(json.loads(line)) for line in out.splitlines()]
        ways = {
            "one by one": lambda it, pages: [it.decide(page) for page in pages],
            "a batch": lambda it, pages: it.decide_batch(pages),
            "small batches": lambda it, pages: list(it.verdicts(iter(pages), batch_size=3)),
        }
        for name, way in ways.items():
            with self.subTest(name):
                verdicts = way(leitong.Deduplicator(), [as_in_python(page) for page in pages])
                self.assertEqual([timeless(verdict.to_dict()) for verdict in verdicts], expected)

    def test_texts_need_no_ids(self):
        deduplicator = leitong.Deduplicator()
        verdicts = deduplicator.decide_batch([NEWS, NEWS, {"text": NEWS, "id": 7}, {"text": None}, ""])
        self.assertEqual(
            [(verdict.kind, verdict.is_duplicate) for verdict in verdicts],
            [("UNIQUE", False), ("EXACT_DUPLICATE", True), ("EXACT_DUPLICATE", True)] + [("UNDECIDABLE", False)] * 2,
        )
        self.assertEqual((verdicts[2].page_id, verdicts[2].canonical_page_id), ("7", verdicts[0].page_id))
        self.assertEqual(len(deduplicator), 1)
        self.assertIn("EXACT_DUPLICATE of", repr(verdicts[1]))

    def test_unique_pages_are_returned_unchanged(self):
        rows = [{"text": NEWS, "n": 1}, {"text": NEWS + " More.", "n": 2}, {"text": "short", "n": 3}]
        kept = list(leitong.Deduplicator().unique(iter(rows), batch_size=2))
        self.assertEqual([row["n"] for row in kept], [1, 3])
        self.assertIs(kept[0], rows[0])

    def test_arrow_arrays_and_tables_are_accepted(self):
        import pyarrow

        table = pyarrow.table({"text": [NEWS, "", None, NEWS], "n": [1, 2, 3, 4]})
        expected = ["UNIQUE", "UNDECIDABLE", "UNDECIDABLE", "EXACT_DUPLICATE"]
        texts = table.column("text").fill_null("")
        for pages in (table, table.to_batches()[0], texts, texts.combine_chunks()):
            with self.subTest(type(pages).__name__):
                self.assertEqual([v.kind for v in leitong.Deduplicator().decide_batch(pages)], expected)
                self.assertEqual([v.kind for v in leitong.Deduplicator().verdicts(pages, 3)], expected)

    def test_what_would_be_iterated_by_letters_or_names_is_refused(self):
        class Frame:
            """Has names of columns, and is iterated by them, as data frames are."""

            columns = ["text"]

            def __iter__(self):
                return iter(self.columns)

        deduplicator, fingerprinter = leitong.Deduplicator(), leitong.Fingerprinter()
        for pages, advice in [(NEWS, "a list"), ({"text": NEWS}, "a list"), (Frame(), "its rows as dicts")]:
            for take in (
                deduplicator.decide_batch,
                lambda pages: list(deduplicator.verdicts(pages)),
                lambda pages: list(deduplicator.unique(pages)),
                fingerprinter.fingerprints,
                fingerprinter.records,
            ):
                with self.subTest(type(pages).__name__), self.assertRaisesRegex(TypeError, advice):
                    take(pages)

    def test_what_pandas_has_for_missing_values_is_absent(self):
        row = {"text": NEWS, "title": math.nan, "url": math.nan, "fetched_at": math.nan}
        verdict = leitong.Deduplicator().decide(row).to_dict()
        self.assertEqual((verdict["kind"], verdict["url"], verdict["fetched_at"]), ("UNIQUE", "document:0", None))

    def test_bytes_and_lone_surrogates_are_accepted(self):
        html = f"<html><meta charset=gbk><body><p>{'渡船第一次亮着灯驶过海峡，岸上的人们站在雨中看了很久。' * 4}</p>"
        deduplicator = leitong.Deduplicator()
        first = deduplicator.decide({"html": html.encode("gbk"), "url": "http://a/1"})
        second = deduplicator.decide({"html": html.replace("gbk", "utf-8").encode(), "url": "http://a/2"})
        self.assertEqual((first.kind, second.kind), ("UNIQUE", "EXACT_DUPLICATE"))
        self.assertEqual(deduplicator.decide(NEWS + "\ud800").kind, "UNIQUE")

    def test_many_threads_can_share_one_deduplicator(self):
        deduplicator = leitong.Deduplicator()
        found = []
        threads = [
            threading.Thread(target=lambda n=n: found.extend(deduplicator.decide_batch([NEWS * (n + 1)] * 20)))
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 120)
        self.assertEqual(sum(verdict.kind == "UNIQUE" for verdict in found), len(deduplicator))

    def test_settings_come_from_a_file_or_a_text(self):
        detector = leitong.Deduplicator(toml='detector = "paragraph"\n').detector
        self.assertEqual(detector, "paragraph")
        with self.assertRaisesRegex(ValueError, "did you mean detector"):
            leitong.Deduplicator(toml='detektor = "paragraph"\n')
        with self.assertRaisesRegex(ValueError, "not both"):
            leitong.Deduplicator("a.toml", toml="")
        with self.assertRaisesRegex(ValueError, "nowhere.toml"):
            leitong.Deduplicator("nowhere.toml")

    def test_errors_say_what_is_wrong_and_where(self):
        deduplicator = leitong.Deduplicator()
        west = datetime.timezone(datetime.timedelta(hours=-8))
        for page, error, words in [
            ({"body": NEWS}, ValueError, "document 0: has neither \"text\" nor \"html\", but \\['body'\\]"),
            (7, TypeError, "document 1: is int"),
            ({"text": NEWS, "url": ["a"]}, TypeError, "document 2: \"url\" is list"),
            ({"text": NEWS, "url": "a" * 9000}, ValueError, "document 3: its url has 9000 bytes"),
            ({"text": NEWS, "fetched_at": "now"}, TypeError, "document 4: \"fetched_at\" must be a datetime"),
            ({"text": 7}, TypeError, "document 5: \"text\" is int; give a str"),
            ({"html": bytearray(b"<p>")}, TypeError, "document 6: \"html\" is bytearray; give a str or bytes"),
            ({"text": NEWS, "status": "200"}, TypeError, "document 7: \"status\" is str; give an int"),
            ({"text": NEWS, "status": 10**30}, ValueError, "document 8: \"status\" is out of range"),
            ({"text": NEWS, "fetched_at": datetime.datetime(9999, 12, 31, 23, tzinfo=west)}, ValueError, "document 9: \"fetched_at\" is out"),
        ]:
            with self.subTest(page=str(page)[:40]), self.assertRaisesRegex(error, words):
                deduplicator.decide(page)
        self.assertEqual(deduplicator.decide(NEWS).kind, "UNIQUE", "it goes on")
        with self.assertRaises(ValueError):
            list(deduplicator.verdicts([NEWS], batch_size=0))


class Tables(unittest.TestCase):
    def test_results_equal_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.join(folder, "table")
            with leitong.Table(folder) as table:
                deduplicator = leitong.Deduplicator()
                self.assertFalse(table.load(deduplicator))
                deduplicator.decide({"text": NEWS, "url": "http://a/1", "id": "one"})
                table.save(deduplicator)
                with self.assertRaises(OSError):
                    leitong.Table(folder)
            page = json.dumps({"text": NEWS, "url": "http://b/2"})
            status, out, err = command("dedup", "-", "--table", folder, stdin=page + "\n")
            self.assertEqual((status, json.loads(out)["canonical_page_id"]), (0, "one"), err)
            table = leitong.Table(folder)
            self.assertTrue(table.load(deduplicator))
            with self.assertRaisesRegex(ValueError, "made with other settings"):
                table.load(leitong.Deduplicator(toml='detector = "paragraph"\n'))
            table.close()
            with self.assertRaisesRegex(ValueError, "closed"):
                table.save(deduplicator)

    @unittest.mock.patch.dict(os.environ, LEITONG_EVERY_SETTING="1")
    def test_old_centroids_may_be_on_disk(self):
        on_disk = "[table]\non_disk = true\nblock_centroids = 32\n"
        with self.assertRaisesRegex(ValueError, "needs a folder"):
            leitong.Deduplicator(toml=on_disk)
        pages = [
            {"id": str(number), "url": f"http://a/{number}", "text": " ".join(f"w{number * 31 % 197}x{word}" for word in range(60))}
            for number in range(150)
        ]
        expected = [verdict.kind for verdict in leitong.Deduplicator().verdicts(pages + pages[:40])]
        kinds = []
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.join(folder, "table")
            for part in (pages, pages[:40]):
                with leitong.Table(folder) as table:
                    deduplicator = leitong.Deduplicator(toml=on_disk, table=table)
                    kinds += [verdict.kind for verdict in deduplicator.verdicts(part, batch_size=50)]
                    table.save(deduplicator)
                    with self.assertRaisesRegex(ValueError, "load and save it only there"):
                        table.load(deduplicator)
                del deduplicator
            self.assertTrue([name for name in os.listdir(folder) if name.endswith(".block")])
        self.assertEqual(kinds, expected)
        self.assertIn("EXACT_DUPLICATE", kinds)


class Records(unittest.TestCase):
    """Fingerprints made elsewhere, in any number of processes, and decided in one place."""

    def pages(self):
        pages = [as_in_python(page) for page in sample_pages()]
        return pages + [{"id": "again", "text": NEWS}, {"id": "twice", "text": NEWS}, {"id": 3, "text": None}]

    def test_records_have_the_verdicts_of_their_pages(self):
        pages = self.pages()
        expected = [timeless(verdict.to_dict()) for verdict in leitong.Deduplicator().decide_batch(pages)]
        parts = [leitong.Fingerprinter().records(pages[at : at + 4]) for at in range(0, len(pages), 4)]
        deduplicator = leitong.Deduplicator()
        verdicts = [verdict for part in parts for verdict in deduplicator.decide_records(part)]
        self.assertEqual([timeless(verdict.to_dict()) for verdict in verdicts], expected)
        self.assertIn("NEAR_DUPLICATE", {verdict.kind for verdict in verdicts})
        self.assertEqual(deduplicator.decide({"id": "page", "text": NEWS}).canonical_page_id, "again")

    def test_bad_records_are_refused_as_a_whole(self):
        deduplicator = leitong.Deduplicator()
        good = leitong.Fingerprinter().records([{"id": "a", "text": NEWS}])
        other = leitong.Fingerprinter(toml='detector = "paragraph"\n').records([{"id": "a", "text": NEWS}])
        placed = [leitong.LogSource("corpus").place(good)[0][1]]
        for records, message in (
            (good + [b"\xff"], "record 1: .*not a record written by Leitong"),
            (good + [b""], "record 1: .*no format version"),
            (good + other, "record 1: was made with other settings"),
            (placed, "record 0: .*already has a place"),
        ):
            with self.assertRaisesRegex(ValueError, message):
                deduplicator.decide_records(records)
        self.assertEqual(len(deduplicator), 0)
        self.assertEqual(deduplicator.decide_records(good)[0].kind, "UNIQUE")

    def test_pages_need_a_url_or_an_id(self):
        fingerprinter = leitong.Fingerprinter()
        for page in (NEWS, {"text": NEWS}, {"text": NEWS, "url": None}):
            with self.assertRaisesRegex(ValueError, "document 1: has neither"):
                fingerprinter.records([{"id": "a", "text": NEWS}, page])

    def test_places_in_a_log_are_consecutive(self):
        records = leitong.Fingerprinter().records(self.pages())
        time = datetime.datetime(2026, 11, 24, tzinfo=datetime.timezone.utc)
        source = leitong.LogSource("corpus", epoch=2, log_time=time)
        placed = source.place(records[:5]) + source.place(records[5:])
        self.assertEqual(source.next_offset, len(records))
        self.assertEqual(placed, leitong.LogSource("corpus", epoch=2, log_time=time).place(records))
        with self.assertRaisesRegex(ValueError, "record 1: "):
            source.place([records[0], b"nonsense"])
        self.assertEqual(source.next_offset, len(records))
        partitions = {partition for partition, _ in leitong.LogSource("corpus", log_partitions=16).place(records)}
        self.assertEqual(partitions, {10})  # the corpus "default"
        for wrong in ({"name": ""}, {"name": "corpus", "log_partitions": 0}):
            with self.assertRaises(ValueError):
                leitong.LogSource(**wrong)


class Texts(unittest.TestCase):
    def test_extraction_equals_that_of_the_program(self):
        for page in sample_pages():
            if not page.get("html"):
                continue
            status, out, err = command("extract", "--format", "json", "-", stdin=page["html"])
            with self.subTest(page["id"]):
                try:
                    document = leitong.extract(page["html"])
                except ValueError:
                    self.assertNotEqual(status, 0)
                    continue
                self.assertEqual(status, 0, err)
                expected = json.loads(out)
                self.assertEqual(document.title, expected["title"])
                self.assertEqual(document.paragraphs, [part["text"] for part in expected["paragraphs"]])
                self.assertEqual("".join(part + "\n" for part in document.paragraphs), document.text)

    def test_html_without_text_raises_an_error(self):
        with self.assertRaisesRegex(ValueError, "NOT_HTML"):
            leitong.extract(b"%PDF-1.7 \x00\x01")
        with self.assertRaises(TypeError):
            leitong.extract(7)

    def test_fingerprints_equal_those_of_verdicts(self):
        fingerprinter = leitong.Fingerprinter()
        copy = NEWS.replace("Monday", "Tuesday")
        a, b, none = fingerprinter.fingerprints([NEWS, {"text": copy}, ""])
        self.assertIsNone(none)
        self.assertEqual(a, leitong.fingerprint(NEWS))
        verdict = leitong.Deduplicator().decide(NEWS).to_dict()
        self.assertEqual(verdict["fingerprint_hash"], fingerprinter.fingerprint_hash)
        distance, similarity, near = fingerprinter.compare(a, b)
        self.assertTrue(near and 0 < similarity <= 1 and distance >= 0)
        self.assertEqual(fingerprinter.compare(a, a)[0], 0)
        with self.assertRaisesRegex(ValueError, "second argument is not a fingerprint"):
            fingerprinter.compare(a, b"x")


class Command(unittest.TestCase):
    def test_the_package_contains_the_program(self):
        status, out, _ = command("--version")
        self.assertEqual((status, out.split()[0]), (0, "leitong"))
        status, _, err = command("dedup", "nowhere.jsonl")
        self.assertTrue(status != 0 and "nowhere.jsonl" in err, err)
        module = subprocess.run([sys.executable, "-m", "leitong", "dedup", "--nonsense"], capture_output=True)
        self.assertEqual(module.returncode, 2, "bad usage")


if __name__ == "__main__":
    unittest.main()
