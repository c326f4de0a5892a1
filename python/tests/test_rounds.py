"""Clustering in rounds, as `leitong.spark` does it, compared with one process. Needs no Spark.

`Model` does with lists and sets what `leitong/spark/_rounds.py` does with tables; the steps are the same.
"""

import collections
import random
import unittest

import leitong
import pyarrow
import worlds
from leitong.spark import _steps as steps

TYPES = {"long": pyarrow.int64(), "binary": pyarrow.binary(), "byte": pyarrow.int8()}
WINDOW, ROUNDS = 64, 20


class Model:
    def __init__(self, records, *, toml="", window=WINDOW, rounds=ROUNDS, seed=0):
        self.settings, self.draw, self.pairs, self.rounds = steps.Settings.of(worlds.TOML + toml), random.Random(seed), 0, 0
        self.verdicts = self.cluster(records, window, rounds)

    def run(self, step, columns, rows):
        """Runs a step on rows, in batches of random lengths; returns its rows."""
        columns = [column.split() for column in columns.split(", ")]
        rows, batches = list(rows), []
        while rows:
            count = self.draw.randrange(1, 2 * len(rows) + 1)
            some, rows = rows[:count], rows[count:]
            arrays = [pyarrow.array(values, TYPES[kind]) for values, (_, kind) in zip(zip(*some), columns)]
            batches.append(pyarrow.record_batch(arrays, names=[name for name, _ in columns]))
        return [tuple(row.values()) for batch in step(batches) for row in batch.to_pylist()]

    def lists(self, rows, columns, window, rest):
        found = self.run(steps.lists(self.settings, window, rest), columns, sorted(rows))
        self.pairs += sum(row[1] for row in found if row[3] == steps.COUNT)
        return [row for row in found if row[3] != steps.COUNT]

    def cluster(self, records, window, rounds):
        settings = self.settings
        documents = self.run(steps.read(settings), "place long, record binary", enumerate(records))
        leader_of, forms, leads = {}, {}, {}
        for place, text, form in documents:
            if text is not None:
                leader_of[place] = leads.setdefault(text, place)
                if leader_of[place] == place:
                    forms[place] = form
        keys = collections.defaultdict(list)
        for key, place in self.run(steps.keys(settings), "place long, form binary", forms.items()):
            keys[place].append(key)
        still_open, founders, found = set(forms), set(), []

        def outside(was_open, new, window):
            touched = {key for place in new for key in keys[place]}
            rows = [
                (key, place, forms[place], steps.WAS_OPEN * (place in was_open) + steps.IS_NEW * (place in new))
                for place in forms
                for key in keys[place]
                if key in touched
            ]
            return self.lists(rows, "key long, place long, form binary, mark byte", window, True)

        while still_open and self.rounds < rounds:
            rows = [(key, place, forms[place]) for place in still_open for key in keys[place]]
            pairs = self.lists(rows, "key long, place long, form binary", window, False)
            new = still_open - {later for later, _, _, kind in pairs if kind in (steps.NEAR, steps.BEYOND)}
            found += [pair for pair in pairs if pair[3] != steps.BEYOND and pair[1] in new]
            found += outside(still_open, new, window)
            founders |= new
            still_open = still_open - new - {later for later, _, _, kind in found if kind == steps.NEAR}
            window, self.rounds = 2 * window, self.rounds + 1
        rest = [(place, forms[place]) for place in sorted(still_open)]
        new = {place for (place,) in self.run(steps.in_order(settings), "place long, form binary", rest)}
        found += outside(set(), new, 0)
        founders |= new
        return self.decided(records, leader_of, forms, founders, found)

    def decided(self, records, leader_of, forms, founders, found):
        settings = self.settings
        nearest = {steps.NEAR: {}, steps.RELATED: {}}
        for later, earlier, rank, kind in found:
            best = nearest[kind].get(later)
            nearest[kind][later] = min(best or (rank, earlier), (rank, earlier))
        by_article = collections.defaultdict(list)
        of_founders = [(place, forms[place]) for place in sorted(founders)]
        for article, place, form in self.run(steps.articles(settings), "place long, form binary", of_founders):
            by_article[article].append((place, form))
        pairs = [(*late, *early) for pages in by_article.values() for early, late in zip(pages, pages[1:])]
        parts = dict(self.run(steps.parts(settings), "place long, form binary, other long, other_form binary", pairs))
        rows = []
        for place, record in enumerate(records):
            leader = leader_of.get(place)
            role, other = steps.UNDECIDABLE, None
            if leader in founders:
                role, other = steps.KNOWN_TEXT, leader
                if place == leader:
                    role, other = steps.FOUNDER, parts.get(place, nearest[steps.RELATED].get(place, (0, None))[1])
            elif leader is not None:
                role = steps.JOINED if place == leader else steps.KNOWN_TEXT
                other = nearest[steps.NEAR][leader][1]
            rows.append((place, role, record, other, None if other is None else records[other]))
        made = []

        def step(batches):
            for batch in batches:
                other = pyarrow.compute.fill_null(batch.column("other"), 0)
                numbers = [steps._numbers(column, width) for column, width in ((batch.column("place"), 8), (batch.column("role"), 1), (other, 8))]
                records, others = batch.column("record").to_pylist(), batch.column("other_record").to_pylist()
                made.extend(steps.clustering(settings).verdicts(records, numbers[0], numbers[1], others, numbers[2]))
            return []

        self.run(step, "place long, role byte, record binary, other long, other_record binary", rows)
        return [worlds.comparable(verdict.to_dict()) for verdict in made]


def one_process(records, toml=""):
    verdicts = leitong.Deduplicator(toml=worlds.TOML + toml).decide_records(records)
    return [worlds.comparable(verdict.to_dict()) for verdict in verdicts]


SETTINGS = [
    "",
    '[simhash.near]\nduplicates = "contained"\n',
    "[simhash.near]\naddresses = false\n",
]


class Rounds(unittest.TestCase):
    maxDiff = 2_000

    def test_every_verdict_equals_that_of_one_process(self):
        seen = collections.Counter()
        for seed in range(60):
            toml = SETTINGS[seed % 7] if seed % 7 < len(SETTINGS) else ""
            records = worlds.world(seed)
            model = Model(records, toml=toml, window=1 + seed % 5, rounds=(1, 2, 4, 20)[seed % 4], seed=seed)
            expected = one_process(records, toml)
            for found, right in zip(model.verdicts, expected):
                self.assertEqual(found, right, f"world {seed}")
            self.assertEqual(len(model.verdicts), len(records))
            seen.update(verdict["kind"] for verdict in expected)
            seen.update(f"related {verdict['relation']}" for verdict in expected if verdict["related_page_id"])
            seen.update("equal text" for verdict in expected if (verdict["evidence"] or {}).get("equal_text"))
        wanted = ["UNIQUE", "EXACT_DUPLICATE", "NEAR_DUPLICATE", "UNDECIDABLE", "related PART", "related OVERLAPS", "equal text"]
        self.assertTrue(all(seen[name] > 20 for name in wanted), seen)

    def test_a_crowd_of_copies_takes_one_round_and_few_comparisons(self):
        records = worlds.crowd(3_000, alike=True)
        model = Model(records)
        self.assertEqual((model.rounds, model.pairs), (1, 4_952))
        self.assertEqual(model.verdicts, one_process(records))
        self.assertEqual(sum(verdict["kind"] == "UNIQUE" for verdict in model.verdicts), 1)

    def test_unlike_documents_under_one_key_are_compared_once(self):
        records = worlds.crowd(3_000, alike=False)
        model = Model(records)
        self.assertEqual((model.rounds, model.pairs), (6, 3_000 * 2_999 // 2))
        self.assertEqual(model.verdicts, one_process(records))

    def test_one_process_decides_the_rest_of_a_long_chain(self):
        records = worlds.chain(400)
        expected = one_process(records)
        kinds = collections.Counter(verdict["kind"] for verdict in expected)
        self.assertTrue(min(kinds["UNIQUE"], kinds["NEAR_DUPLICATE"]) > 100, kinds)
        model = Model(records, window=4, rounds=8)
        self.assertEqual((model.rounds, model.verdicts), (8, expected))


class Refused(unittest.TestCase):
    def test_settings_under_which_verdicts_could_differ(self):
        for toml, name in [
            ('detector = "paragraph"', "detector"),
            ("[recrawls]\nenabled = true", "recrawls.enabled"),
            ("[expiry]\nmax_age_days = 30", "expiry.max_age_days"),
            ('[canonical]\nprefer = ["https"]', "canonical.prefer"),
        ]:
            with self.subTest(name), self.assertRaisesRegex(ValueError, f"{name}.*cluster in one process"):
                steps.Settings.of(toml)

    def test_records_of_other_settings(self):
        page = {"id": "1", "text": worlds.__doc__ * 3}
        record = leitong.Fingerprinter(toml="[extract]\ncomments = true").records([page])
        with self.assertRaisesRegex(ValueError, "record 0 was made with other settings"):
            steps.clustering(steps.Settings.of(None)).read(record)

    def test_machines_of_other_versions(self):
        """Another version may consider other texts near, so each machine checks that it has the settings of the first one."""
        with self.assertRaisesRegex(ValueError, "every machine needs the same version"):
            steps.clustering(steps.Settings(None, "0" * 32))

    def test_rows_that_are_not_sorted(self):
        [(_, _, form)] = Model([]).run(steps.read(steps.Settings.of(None)), "place long, record binary", [(0, worlds.crowd(1, True)[0])])
        lists = steps.clustering(steps.Settings.of(None)).lists(64, False)
        one = (1).to_bytes(8, "little")
        lists.feed(one, one, form, b"")
        with self.assertRaisesRegex(ValueError, "not in ascending order"):
            lists.feed(one, one, form, b"")


if __name__ == "__main__":
    unittest.main()
