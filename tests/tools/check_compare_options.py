#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The options of bench/compare, and which sizes and calls follow from them.

Usage: check_compare_options.py SOURCE_ROOT
"""
import io
import unittest
from contextlib import redirect_stderr

from compare_folder import options_for

import jobs
import options
import rondo


class Options(unittest.TestCase):
    def test_refused(self):
        for words, sentence in ((["--ranks", "1"], "--ranks: is '1': it must be numbers of ranks"),
                                (["--collectives", "sum"], "there is no collective 'sum'"),
                                (["--peers", "nccl"], "there is no peer 'nccl'"),
                                (["--transport", "ib"], "there is no transport 'ib'"),
                                (["--first", "8X"], "--first: is '8X': it must be bytes"),
                                (["--last", "3G"], "at most 2G"),
                                (["--first", "64", "--last", "8"], "--first is 64: it must be at most"),
                                (["--first", "6"], "--first is 6: it must be a multiple of 4"),
                                (["--factor", "1"], "'1': it must be a whole number, at least 2"),
                                (["--rounds", "x"], "--rounds: is 'x'"),
                                (["--rounds", "0"], "--rounds: is '0': it must be a number of rounds, as in 5"),
                                (["--rounds", "7-6"], "--rounds: is '7-6'"),
                                (["--width", "0"], "--width: is '0': it must be a number of percent above 0"),
                                (["--width", "wide"], "--width: is 'wide'"),
                                (["--timeout", "0"], "'0': it must be a number of seconds above 0"),
                                (["--state", "hot"], "argument --state: invalid choice: 'hot'"),
                                (["--state", "near", "--state-seconds", "0"],
                                 "--state is near: with --state-seconds 0 no state is probed"),
                                (["--state-seconds", "x"], "'x': it must be a number of seconds above 0"),
                                (["--in-place", "--collectives", "barrier"], "barrier has no such form"),
                                (["--torch-python", "no-such"], "'no-such': there is no such program"),
                                (["--json", "no-such/file"], "--json: is 'no-such/file': No such file"),
                                (["--perf", "no-such"], "there is no program no-such")):
            with self.subTest(words=words):
                errors = io.StringIO()
                with self.assertRaises(SystemExit) as raised, redirect_stderr(errors):
                    options_for(*words)
                self.assertEqual(raised.exception.code, 2)
                self.assertIn(sentence, errors.getvalue().replace("\n", " "))

    def test_quick_gives_way_to_what_is_said(self):
        arguments = options_for("--quick", "--ranks", "4")
        self.assertEqual((arguments.ranks, arguments.rounds), ([4], options.QUICK["rounds"]))

    def test_messages_are_timed_as_such(self):
        arguments = options_for("--ranks", "2", "--last", "8")
        for name, words, iterations in (("send_recv", [], 200), ("ping_pong", ["--ping_pong"], 200),
                                        ("one_way", ["--one_way", "-m", "64"], 25), ("both_ways", ["-m", "64"], 25)):
            job = jobs.job_of(jobs.Sweep("shm", name, 2), [8], arguments, 1)
            command = rondo.perf_command("perf", job, job.steps, arguments)
            self.assertEqual(command[1:2 + len(words)], ["send_recv", *words])
            self.assertEqual(command[command.index("-n") + 1], str(iterations))

    def test_sizes_hold_an_element_of_each_rank(self):
        arguments = options_for("--type", "double", "--last", "1K")
        for name, sizes in (("all_reduce", [8, 32, 128, 512]), ("gather", [32, 128, 512]), ("barrier", [0])):
            self.assertEqual(jobs.sizes_of(jobs.Sweep("shm", name, 4), arguments), sizes)


if __name__ == "__main__":
    unittest.main()
