# SPDX-License-Identifier: Apache-2.0
"""tools/test-torch itself: what it counts, what it reports about tests that hang and crash, which options it refuses.
Needs no torch: the tests run here are fake."""
import os
import subprocess
import sys
import time
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tools/test_torch"))

import team  # noqa: E402
from expected import expected_failures  # noqa: E402
from outcome import FAILED, PASSED, SKIPPED, Judgement, Outcome  # noqa: E402


def made_up_tests():
    class Tests(unittest.TestCase):
        """One of each kind; unittest runs them in order of their names."""

        def test_1_passes(self):
            pass

        def test_2_fails(self):
            self.assertEqual(1, 2, "as it should")

        def test_3_kills_its_host(self):
            print("these words come last", flush=True)
            os.abort()

        def test_4_is_skipped_when_it_runs(self):
            raise unittest.SkipTest("for a reason")

        @unittest.skip("never")
        def test_5_is_skipped_by_its_decorator(self):
            pass

        def test_6_hangs(self):
            time.sleep(1000)

        def test_7_passes_after_all_that(self):
            pass
    return Tests


class Runner(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        team.MARGIN_S = 0.5
        cls.started = time.monotonic()
        cls.outcomes = {one.name: one for one in team.run_tests(made_up_tests, list, 4)}
        cls.seconds = time.monotonic() - cls.started

    def outcome(self, number):
        found = [one for name, one in self.outcomes.items() if name.startswith(f"test_{number}_")]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_every_test_has_one_outcome(self):
        self.assertEqual([self.outcome(number).outcome for number in range(1, 8)],
                         [PASSED, FAILED, FAILED, SKIPPED, SKIPPED, FAILED, PASSED])

    def test_a_failure_gives_its_reason(self):
        self.assertEqual(self.outcome(2).reason(), "AssertionError: 1 != 2 : as it should")

    def test_a_dead_host_is_named_with_its_last_words(self):
        self.assertIn("died", self.outcome(3).reason())
        self.assertIn("these words come last", self.outcome(3).words)

    def test_a_hang_ends_at_the_limit(self):
        self.assertIn("hung", self.outcome(6).reason())
        self.assertLess(self.seconds, 60)

    def test_selection(self):
        plan = team.list_tests(made_up_tests, lambda names: [name for name in names if "skipped" in name])
        self.assertEqual(plan.run, ["test_4_is_skipped_when_it_runs"])
        self.assertEqual(plan.skipped, ["test_5_is_skipped_by_its_decorator"])

    def test_a_suite_that_cannot_be_loaded(self):
        def load():
            raise ImportError("there is no such suite")
        with self.assertRaisesRegex(RuntimeError, "no such suite"):
            team.run_tests(load, list, 1)


class Counting(unittest.TestCase):
    def judge(self, *outcomes, expected=()):
        return Judgement([Outcome(f"test_{i}", outcome) for i, outcome in enumerate(outcomes)],
                         {name: "why" for name in expected})

    def test_plain(self):
        self.assertEqual(self.judge(PASSED, PASSED, FAILED, SKIPPED).numbers(), (2, 1, 0, 1))

    def test_an_expected_failure_is_no_failure(self):
        self.assertEqual(self.judge(PASSED, FAILED, expected=["test_1"]).numbers(), (1, 0, 1, 0))

    def test_an_expected_failure_that_passes_is_one(self):
        judgement = self.judge(PASSED, FAILED, expected=["test_0"])
        self.assertEqual(judgement.numbers(), (0, 2, 0, 0))
        self.assertEqual([one.name for one in judgement.surprises()], ["test_0"])

    def test_built_in_backends_have_no_excuses(self):
        self.assertEqual(expected_failures("gloo", (2, 15)), {})
        self.assertTrue(expected_failures("rondo", (2, 15)))

    def test_later_versions_have_fewer_excuses(self):
        self.assertLess(expected_failures("rondo", (2, 14)).keys(), expected_failures("rondo", (2, 13)).keys())

    def test_the_reason_is_found_above_stacks_of_cpp(self):
        words = ("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nRuntimeError: Process 0 exited\n"
                 "torch.distributed.DistBackendError: rank 1 has died\nException raised from wait at work.cc:1:\n"
                 "frame #0: wait()\n")
        self.assertEqual(Outcome("a", FAILED, 0, words).reason(),
                         "torch.distributed.DistBackendError: rank 1 has died")
        self.assertEqual(Outcome("a", FAILED, 0, "").reason(), "no reason was given")


class Options(unittest.TestCase):
    def refused(self, arguments, words):
        run = subprocess.run([sys.executable, os.path.join(ROOT, "tools/test_torch"), *arguments], text=True,
                             capture_output=True, timeout=60)
        self.assertEqual(run.returncode, 2, run.stdout + run.stderr)
        self.assertIn(words, run.stderr)

    def test_refused(self):
        for arguments, words in (
                (["--ranks", "two"], "numbers of ranks"), (["--ranks", "0"], "numbers of ranks"),
                (["--limit", "0"], "seconds"), (["--backend", "gloo", "--as-gloo"], "backends other"),
                (["--quick", "--ranks", "3"], "2 ranks"), (["--quick", "--as-itself"], "itself"),
                (["--as-gloo", "--as-itself"], "not allowed"), (["--no-such"], "--no-such")):
            with self.subTest(arguments=arguments):
                self.refused(arguments, words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
