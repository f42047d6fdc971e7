#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often bench/compare repeats measurements, on a clock that only the contestants advance.

Usage: check_compare_rounds.py SOURCE_ROOT
"""
import io
import math
import random
import unittest
from contextlib import redirect_stderr

from compare_folder import options_for

import intervals
import measure
from budget import Budget
from contestant import Contestant, Turn


class Rounds(unittest.TestCase):
    """On a clock that only the contestants advance."""

    def measure(self, minutes, seconds, collectives="all_reduce", state_at=lambda now: None):
        clock = [0.0]

        def run(job):
            clock[0] += min(seconds, job.timeout)
            times = {step.bytes: 1.0 for step in job.steps}
            return Turn(times) if seconds <= job.timeout else Turn({}, "it took too long")

        arguments = options_for("--collectives", collectives, "--ranks", "2", "--rounds", "9", "--last", "8")
        with redirect_stderr(io.StringIO()):
            sheet = measure.measure(arguments, [Contestant("rondo", "", run), Contestant("other", "", run)],
                                    Budget(minutes, lambda: clock[0]), lambda: state_at(clock[0]))
        return sheet, clock[0]

    def test_there_are_as_many_as_there_is_time_for(self):
        sheet, seconds = self.measure(minutes=1, seconds=7)
        self.assertEqual((sheet.rounds, seconds), (3, 42))
        self.assertEqual([len(times) for times in sheet.times.values()], [3, 3])

    def test_the_first_has_a_share_for_everybody(self):
        sheet, seconds = self.measure(minutes=1, seconds=40)
        self.assertEqual((sheet.rounds, seconds), (1, 60))
        self.assertEqual([name for _, name in sheet.faults], ["rondo", "other"])

    def test_a_state_that_does_not_hold_takes_no_time_from_other_sweeps(self):
        sheet, seconds = self.measure(minutes=1, seconds=7, collectives="reduce,broadcast",
                                      state_at=lambda now: 30 if now > 29 or now % 2 else 300)
        self.assertEqual((sheet.rounds, seconds), (1, 44))
        self.assertEqual([(str(sweep), name) for sweep, _, name in sheet.times],
                         [("broadcast, 2 ranks, shm", name) for name in ("rondo", "other")])
        self.assertEqual(sheet.faults, {})

    def test_a_turn_without_time_is_left_out_and_has_not_failed(self):
        for turn, timed in ((25, ["rondo"]), (30, [])):  # Rondo takes two turns
            with self.subTest(turn=turn):
                sheet, seconds = self.measure(minutes=1, seconds=turn, state_at=lambda now: 30 if now else 300)
                self.assertEqual((sheet.rounds, seconds), (1, 60))
                self.assertEqual([name for _, _, name in sheet.times], timed)
                self.assertEqual(sheet.faults, {})


class NoiseSource:
    """Contestants whose times have a known median and a spread that depends on the size, on a clock of its own."""

    def __init__(self, spread, seconds=1.0, state_at=lambda now: None):
        self.random, self.now = random.Random(7), 0.0
        self.spread, self.seconds, self.state_at = spread, seconds, state_at

    def contestant(self, name, median_us):

        def run(job):
            self.now += self.seconds
            factor = 1 if (self.state_at(self.now) or 0) < 100 else 3
            return Turn({step.bytes: factor * median_us * self.random.uniform(1, 1 + self.spread(step.bytes))
                         for step in job.steps})
        return Contestant(name, "", run)

    def measure(self, *words, minutes=1e9):
        arguments = options_for("--collectives", "all_reduce", "--ranks", "2", "--last", "512", "--factor", "8", *words)
        contestants = [self.contestant("rondo", 1.0), self.contestant("other", 2.0)]
        errors = io.StringIO()
        with redirect_stderr(errors):
            sheet = measure.measure(arguments, contestants, Budget(minutes, lambda: self.now),
                                    lambda: self.state_at(self.now))
        return sheet.rows(["rondo", "other"]), errors.getvalue()


def rounds_of(row):
    return len(row["contestants"]["rondo"]["rounds_us"])


class Noise(unittest.TestCase):
    def test_quiet_rows_are_measured_as_often_as_said(self):
        rows, _ = NoiseSource(lambda size: 0.01).measure()
        self.assertEqual([rounds_of(row) for row in rows], [6, 6, 6])
        for row in rows:
            self.assertFalse(row["noisy"], row)
            self.assertTrue(row["interval"][0] <= row["speed"] <= row["interval"][1], row)

    def test_a_noisy_row_is_repeated_with_the_smaller_ones_until_its_interval_is_narrow(self):
        rows, said = NoiseSource(lambda size: 0.2 if size == 64 else 0.01).measure("--rounds", "6-99")
        counts = [rounds_of(row) for row in rows]
        self.assertEqual(counts[0], counts[1])
        self.assertGreater(counts[1], 6)
        self.assertEqual(counts[2], 6)
        self.assertFalse(rows[1]["noisy"])
        self.assertLessEqual(rows[1]["width_percent"], 10)
        self.assertAlmostEqual(rows[1]["speed"], 2, delta=0.15)
        self.assertGreater(rows[1]["contestants"]["rondo"]["noise_percent"], 3)
        self.assertIn("1 sizes are noisy: all_reduce, 2 ranks, shm", said)

    def test_the_width_decides(self):
        counts = [rounds_of(NoiseSource(lambda size: 0.2).measure("--rounds", "6-99", "--width", width)[0][0])
                  for width in ("40", "10", "5")]
        self.assertEqual(counts[0], 6)
        self.assertEqual(counts, sorted(set(counts)))

    def test_what_stays_noisy_is_said_to_be(self):
        rows, _ = NoiseSource(lambda size: 3).measure("--rounds", "6-11")
        for row in rows:
            self.assertEqual((row["noisy"], rounds_of(row)), (True, 11))
            self.assertGreater(row["width_percent"], 10)

    def test_a_time_limit_ends_the_repetition(self):
        source = NoiseSource(lambda size: 3)
        rows, said = source.measure("--rounds", "6-999", minutes=1)
        self.assertLessEqual(source.now, 60)
        self.assertGreater(source.now, 55)
        self.assertTrue(all(row["noisy"] for row in rows))
        self.assertIn("there is no time for more rounds, 3 sizes remain noisy", said)

    def test_fewer_than_six_rounds_have_no_interval(self):
        rows, _ = NoiseSource(lambda size: 0.01).measure("--rounds", "5")
        self.assertEqual([(row["interval"], row["noisy"], rounds_of(row)) for row in rows], [(None, None, 5)] * 3)

    def test_only_rounds_in_one_state_count(self):
        # Three times slower in the first 20 s; a mixture would be noisy.
        source = NoiseSource(lambda size: 0.01, state_at=lambda now: 200 if now < 20 else 30)
        rows, _ = source.measure("--rounds", "6-40", "--width", "2")
        for row in rows:
            self.assertEqual((row["state"], row["noisy"]), ("far", False))
        rows, _ = source.measure("--rounds", "6-40", "--width", "2")
        self.assertEqual({row["state"] for row in rows}, {"near"})
        source = NoiseSource(lambda size: 0.01, state_at=lambda now: 200 if now < 6 else 30)
        rows, _ = source.measure("--rounds", "8-40")
        for row in rows:
            self.assertEqual(row["state"], "near")
            self.assertGreaterEqual(rounds_of(row), 6)
            self.assertTrue(all(us < 1.1 for us in row["contestants"]["rondo"]["rounds_us"]), row)

    def test_a_state_that_is_asked_for_is_waited_for(self):
        for wanted, other in ("near", "far"), ("far", "near"):
            first, then = (200, 30) if wanted == "near" else (30, 200)
            source = NoiseSource(lambda size: 0.01,
                                 state_at=lambda now, first=first, then=then: first if now < 100.5 else then)
            rows, said = source.measure("--rounds", "6", "--state", wanted)
            self.assertEqual([(row["state"], rounds_of(row)) for row in rows], [(wanted, 5)] * 3, other)
            self.assertIn("or was another than --state", said)

    def test_the_interval_has_its_median_as_often_as_said(self):
        source = random.Random(1)
        for count in (6, 9, 20):
            held = 0
            for _ in range(2000):
                low, high = intervals.interval([source.expovariate(1) for _ in range(count)])
                held += low <= math.log(2) <= high  # the median of an exponential distribution
            self.assertGreater(held / 2000, 0.94, count)
        self.assertIsNone(intervals.interval([1.0] * 5))
        self.assertEqual(intervals.interval([5, 1, 2, 9, 3, 4]), (1, 9))
        self.assertEqual(intervals.interval([5, 1, 2, 9, 3, 4, 6, 7, 8]), (2, 8))


if __name__ == "__main__":
    unittest.main()
