"""`leitong.datatrove` in pipelines of datatrove, and `leitong.scrapy` in a crawl, compared with `Deduplicator`."""

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import leitong
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import MinhashDedupFilter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from leitong.datatrove import Cluster, Deduplicate, Fingerprints
from loguru import logger

# Says more than a test that passes should.
logger.disable("datatrove")

FILES, DOCUMENTS = 3, 700


def text(number):
    return " ".join(f"The harbour master wrote {(number + 3) * (word + 5) % 9973} into his book." for word in range(12))


def document(file, number):
    # Every seventh repeats one of another file; every hundredth is too short for a verdict.
    of = number if number % 7 else number // 7
    return {"text": "short" if number % 100 == 99 else text(of + file * DOCUMENTS * (number % 7 > 0)), "id": f"{file}-{number}"}


class Datatrove(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "pages").mkdir()
        self.documents = [document(file, number) for file in range(FILES) for number in range(DOCUMENTS)]
        for file in range(FILES):
            lines = (json.dumps(each) + "\n" for each in self.documents[file * DOCUMENTS :][:DOCUMENTS])
            (self.folder / "pages" / f"{file}.jsonl").write_text("".join(lines))

    def path(self, name):
        return str(self.folder / name)

    def run_pipeline(self, tasks, *steps):
        logs = tempfile.mkdtemp(dir=self.folder)
        return LocalPipelineExecutor(list(steps), tasks=tasks, workers=1, logging_dir=logs).run()

    def written(self, name):
        files = sorted((self.folder / name).iterdir())
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    def expected(self):
        deduplicator = leitong.Deduplicator()
        return [page["id"] for page, verdict in zip(self.documents, deduplicator.verdicts(self.documents)) if not verdict.is_duplicate]

    def test_one_task_keeps_what_the_deduplicator_keeps_and_writes_the_others(self):
        excluded = JsonlWriter(self.path("dropped"), compression=None)
        kept = JsonlWriter(self.path("kept"), compression=None)
        self.run_pipeline(1, JsonlReader(self.path("pages")), Deduplicate(exclusion_writer=excluded), kept)
        ids = [each["id"] for each in self.written("kept")]
        self.assertEqual(ids, self.expected())
        dropped = self.written("dropped")
        self.assertEqual(len(ids) + len(dropped), FILES * DOCUMENTS)
        self.assertTrue(all(each["metadata"]["leitong_canonical"] in ids for each in dropped))

    def test_many_tasks_keep_what_one_keeps(self):
        pages = JsonlReader(self.path("pages"))
        self.run_pipeline(FILES, pages, Fingerprints(self.path("fingerprints")))
        self.run_pipeline(1, Cluster(self.path("fingerprints"), self.path("remove")))
        kept = JsonlWriter(self.path("kept"), compression=None)
        self.run_pipeline(FILES, pages, MinhashDedupFilter(self.path("remove")), kept)
        self.assertEqual([each["id"] for each in self.written("kept")], self.expected())

    def test_records_that_are_cut_short_and_missing_ones_are_refused(self):
        self.run_pipeline(1, JsonlReader(self.path("pages"), limit=5), Fingerprints(self.path("fingerprints")))
        file = self.folder / "fingerprints" / "000000.records"
        file.write_bytes(file.read_bytes()[:-1])
        with self.assertRaisesRegex(ValueError, "000000.records is cut short: run Fingerprints again"):
            list(Cluster(self.path("fingerprints"), self.path("remove")).run())
        with self.assertRaisesRegex(FileNotFoundError, "run Fingerprints first"):
            list(Cluster(self.path("nothing"), self.path("remove")).run())

    def test_steps_of_one_task_refuse_to_run_in_several(self):
        for step in (Deduplicate(), Cluster(self.path("fingerprints"), self.path("remove"))):
            with self.assertRaisesRegex(ValueError, "task"):
                list(step.run([], 0, 2))


SPIDER = """
    import json, scrapy

    class Pages(scrapy.Spider):
        name = "pages"
        start_urls = ["data:,"]
        custom_settings = {"ITEM_PIPELINES": {"leitong.scrapy.Deduplicate": 300}, "LEITONG_TABLE": "known"}

        def parse(self, response):
            yield from json.load(open("pages.json"))
"""


class Scrapy(unittest.TestCase):
    def test_a_crawl_drops_duplicates_and_those_of_the_crawl_before(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "spider.py").write_text(textwrap.dedent(SPIDER))
            for numbers, kept in [((0, 1, 0, 2), [0, 1, 2]), ((2, 3, 3), [3])]:
                items = [{"url": f"http://{at}.example/", "text": text(number)} for at, number in enumerate(numbers)]
                (folder / "pages.json").write_text(json.dumps(items))
                command = [sys.executable, "-m", "scrapy", "runspider", "spider.py", "-O", "kept.json"]
                run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                found = [item["text"] for item in json.loads((folder / "kept.json").read_text())]
                self.assertEqual(found, [text(number) for number in kept], run.stderr)
                self.assertIn(f"'leitong/UNIQUE': {len(kept)}", run.stderr)


if __name__ == "__main__":
    unittest.main()
