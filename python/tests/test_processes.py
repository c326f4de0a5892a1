"""The classes in several processes: forked children, pickle and Ctrl-C."""

import copy
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import leitong

TEXT = (
    "The ferry to the islands sails again from Monday on. The company has repaired the engine that failed in March, "
    "and adds a second sailing in the evening for those who work in town and want to be at home for the night."
)
WORDS = [first + second for first in "ka lo mi ru te sa".split() for second in "ben dar fol gim hus jat".split()]


def texts(count, length=60):
    """Returns texts of which every third is a copy of an earlier one."""
    number = 1
    made = []
    for place in range(count):
        if place % 3 == 2:
            made.append(made[place // 2])
            continue
        words = []
        for _ in range(length):
            number = number * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            words.append(WORDS[(number >> 33) % len(WORDS)])
        made.append(" ".join(words) + ".")
    return made


def kinds(verdicts):
    return [verdict.kind for verdict in verdicts]


class ForkedChildren(unittest.TestCase):
    """A forked child has none of its parent's threads, so it must not wait for them."""

    def in_a_child(self, work):
        context = multiprocessing.get_context("fork")
        receiver, sender = context.Pipe(duplex=False)

        def child():
            try:
                sender.send(work())
            except Exception as error:  # noqa: BLE001
                sender.send(error)

        process = context.Process(target=child)
        process.start()
        sender.close()
        try:
            self.assertTrue(receiver.poll(300), "the child hangs")
            return receiver.recv()
        finally:
            process.kill()
            process.join()

    def test_new_objects_and_those_of_the_parent_decide_batches(self):
        batch = texts(200)
        parent = leitong.Deduplicator()
        expected = kinds(parent.decide_batch(batch))
        self.assertIn("EXACT_DUPLICATE", expected)
        self.assertEqual(self.in_a_child(lambda: kinds(leitong.Deduplicator().decide_batch(batch))), expected)
        again = self.in_a_child(lambda: kinds(parent.decide_batch(batch)))
        self.assertEqual(set(again), {"EXACT_DUPLICATE"})

    def test_a_child_can_make_fingerprints(self):
        batch = texts(200)
        fingerprinter = leitong.Fingerprinter()
        expected = fingerprinter.fingerprints(batch)
        self.assertEqual(self.in_a_child(lambda: fingerprinter.fingerprints(batch)), expected)

    def test_a_child_of_a_child_decides_as_well(self):
        batch = texts(100)
        expected = kinds(leitong.Deduplicator().decide_batch(batch))

        def child():
            leitong.Deduplicator().decide_batch(batch)
            return self.in_a_child(lambda: kinds(leitong.Deduplicator().decide_batch(batch)))

        self.assertEqual(self.in_a_child(child), expected)

    def test_objects_in_use_by_a_thread_of_the_parent_are_refused(self):
        """A lock that is held at the fork is never released in the child, so the child must not wait for it."""
        batch = texts(20_000)
        deduplicator = leitong.Deduplicator()
        deciding = threading.Thread(target=lambda: deduplicator.decide_batch(batch))

        deciding.start()
        error = None
        while deciding.is_alive() and not isinstance(error, RuntimeError):
            error = self.in_a_child(lambda: len(deduplicator))
        deciding.join()
        self.assertIn("another thread was using this Deduplicator", str(error))

    def test_many_threads_of_a_child_can_start_at_once(self):
        """The first two threads of a child must not take each other for threads of the parent."""
        deduplicator = leitong.Deduplicator()
        sources = [leitong.LogSource("crawl") for _ in range(50)]

        def child():
            results = []
            start = threading.Barrier(8)

            def use():
                for source in sources:
                    start.wait()
                    results.append(source.next_offset)
                results.append(len(deduplicator))

            threads = [threading.Thread(target=use) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return results

        self.assertEqual(self.in_a_child(child), [0] * (8 * 51))

    def test_a_child_of_a_process_that_uses_the_package_for_the_first_time_can_use_it(self):
        """A child must not wait for tables that another thread of the parent was building at the fork."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_use.py")
        ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)
        self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("0\n" * 8, "", 0))

    def test_a_table_of_the_parent_is_refused(self):
        """If a child could save into the folder that its parent has locked, they would overwrite each other's tables."""
        with tempfile.TemporaryDirectory() as folder, leitong.Table(folder) as table:
            parent = leitong.Deduplicator()
            parent.decide_batch(texts(10))
            table.save(parent)
            for use in (lambda: table.save(leitong.Deduplicator()), lambda: table.load(leitong.Deduplicator())):
                self.assertIsInstance(self.in_a_child(use), RuntimeError)
            self.assertIsNone(self.in_a_child(table.close))
            again = leitong.Deduplicator()
            self.assertTrue(table.load(again))
            self.assertEqual(len(again), len(parent))
            with self.assertRaises(OSError):
                leitong.Table(folder)

    def test_a_table_on_disk_is_refused(self):
        with tempfile.TemporaryDirectory() as folder, leitong.Table(folder) as table:
            deduplicator = leitong.Deduplicator(toml="table.on_disk = true", table=table)
            deduplicator.decide_batch(texts(10))
            error = self.in_a_child(lambda: deduplicator.decide(TEXT))
            self.assertIsInstance(error, RuntimeError)
            self.assertIn("make one in each process", str(error))
            del deduplicator


class Pickled(unittest.TestCase):
    def test_values_and_settings_can_be_pickled(self):
        deduplicator = leitong.Deduplicator()
        for verdict in [deduplicator.decide(TEXT), deduplicator.decide(TEXT + " Again."), deduplicator.decide("x")]:
            same = pickle.loads(pickle.dumps(verdict))
            for name in ("kind", "page_id", "canonical_url", "distance", "similarity", "reason", "is_duplicate"):
                self.assertEqual(getattr(same, name), getattr(verdict, name), name)
            self.assertEqual((same.to_dict(), repr(same)), (verdict.to_dict(), repr(verdict)))
        document = leitong.extract(f"<title>Ferry</title><article><p>{TEXT}</p><p>{TEXT[::-1]}</p></article>")
        same = pickle.loads(pickle.dumps(document))
        self.assertEqual((same.title, same.text), (document.title, document.text))
        self.assertEqual((same.paragraphs, same.metadata), (document.paragraphs, document.metadata))
        for fingerprinter in [leitong.Fingerprinter(), leitong.Fingerprinter(toml='detector = "paragraph"')]:
            same = copy.copy(pickle.loads(pickle.dumps(fingerprinter)))
            self.assertEqual(same.fingerprint_hash, fingerprinter.fingerprint_hash)
            self.assertEqual(same.fingerprint(TEXT), fingerprinter.fingerprint(TEXT))

    def test_a_file_of_settings_is_found_from_elsewhere(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                with open("settings.toml", "w", encoding="utf-8") as file:
                    file.write('detector = "paragraph"\n')
                pickled = pickle.dumps(leitong.Fingerprinter("settings.toml"))
            finally:
                os.chdir(before)
            expected = leitong.Fingerprinter(toml='detector = "paragraph"').fingerprint_hash
            self.assertEqual(pickle.loads(pickled).fingerprint_hash, expected)

    def test_state_cannot_be_pickled_and_the_error_says_what_to_do(self):
        with tempfile.TemporaryDirectory() as folder, leitong.Table(folder) as table:
            for stateful, advice in [
                (leitong.Deduplicator(), "make one in each process"),
                (leitong.LogSource("crawl"), "send it the records"),
                (table, "open it there"),
            ]:
                with self.assertRaisesRegex(TypeError, advice):
                    pickle.dumps(stateful)


class Interrupted(unittest.TestCase):
    """Ctrl-C takes effect within a batch, not only at its end."""

    def setUp(self):
        # A shell starts background processes with SIGINT ignored, so Python has no handler for it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def interrupted(self, work):
        started = threading.Event()

        def press():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=press)
        thread.start()
        try:
            with self.assertRaises(KeyboardInterrupt):
                started.set()
                work()
        finally:
            thread.join()

    def test_ctrl_c_ends_a_batch_without_any_decision(self):
        batch = texts(20_000)
        deduplicator = leitong.Deduplicator()
        self.interrupted(lambda: deduplicator.decide_batch(batch))
        self.assertEqual(len(deduplicator), 0)
        self.assertEqual(deduplicator.decide(TEXT).kind, "UNIQUE")

    def test_ctrl_c_ends_the_reading_of_records_without_any_decision(self):
        pages = [{"id": str(number), "text": text} for number, text in enumerate(texts(200))]
        records = leitong.Fingerprinter().records(pages) * 500
        deduplicator = leitong.Deduplicator()
        self.interrupted(lambda: deduplicator.decide_records(records))
        self.assertEqual(len(deduplicator), 0)

    def test_ctrl_c_ends_the_making_of_fingerprints(self):
        batch = texts(20_000)
        fingerprinter = leitong.Fingerprinter()
        self.interrupted(lambda: fingerprinter.fingerprints(batch))


if __name__ == "__main__":
    unittest.main()
