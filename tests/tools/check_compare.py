#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compare as a program: against fake programs with known times, and against the installed MPI libraries.

Usage: check_compare.py SOURCE_ROOT RONDO_PERF
"""
import io
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from contextlib import redirect_stderr
from xml.dom import minidom

import fake_contestants

PERF = sys.argv.pop(2)
ROOT = sys.argv.pop(1)
FOLDER = os.path.join(ROOT, "bench/compare")
PROGRAM = os.path.join(FOLDER, "compare.py")
sys.path[:0] = [FOLDER, os.path.join(ROOT, "bench/common")]


class Fakes(unittest.TestCase):
    """The times of the contestants are known, and therefore the whole output."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        fake_contestants.write(self.folder)
        fake_contestants.set_states(self.path("log"), "30.0")

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    def compare(self, *arguments):
        env = {"PATH": self.folder, "FAKE_LOG": self.path("log")}
        return subprocess.run(
            [sys.executable, PROGRAM, "--ranks", "2", "--first", "8", "--last", "2K", "--factor", "16",
             "--json", self.path("json"), "--plot", self.path("svg"), "--mpi-folder", self.path("mpi"), *arguments],
            env=env, text=True, capture_output=True, timeout=200)

    def results(self):
        with open(self.path("json"), encoding="utf-8") as file:
            return json.load(file)

    def rows(self):
        return self.results()["rows"]

    def test_the_table_has_the_medians_and_the_ratio_to_the_best_peer(self):
        result = self.compare("--collectives", "all_reduce,barrier", "--rounds", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        table = [line.split() for line in result.stdout.splitlines() if line.startswith("  ")]
        self.assertEqual(table, [
            ["shm", "all_reduce", "2", "8", "8.00", "16.00", "24.00", "2.00", "-", "openmpi"],
            ["shm", "all_reduce", "2", "128", "128.00", "256.00", "384.00", "2.00", "-", "openmpi"],
            ["shm", "all_reduce", "2", "2048", "2,048.00", "4,096.00", "6,144.00", "2.00", "-", "openmpi"],
            ["shm", "barrier", "2", "0", "1.00", "2.00", "3.00", "2.00", "-", "openmpi"]])
        for line in ("shm, all_reduce, 2 ranks: geometric mean of the speed 2.00, minimum 2.00",
                     "shm: geometric mean of the speed 2.00",
                     "beside mpich: geometric mean of the speed 3.00"):
            self.assertIn("# " + line, result.stdout)

    def test_each_round_begins_with_another_contestant(self):
        self.assertEqual(self.compare("--collectives", "all_reduce", "--rounds", "3", "--peers",
                                      "openmpi,mpich").returncode, 0)
        turns = ["rondo", "Open MPI", "MPICH"]
        probes = turns[1:]
        self.assertEqual(self.lines("log"), probes + turns + turns[1:] + turns[:1] + turns[2:] + turns[:2])

    def test_in_place_is_the_in_place_row(self):
        self.assertEqual(self.compare("--collectives", "reduce", "--rounds", "1", "--in-place", "--peers",
                                      "openmpi").returncode, 0)
        self.assertEqual([row["speed"] for row in self.rows()], [4.0] * 3)

    def test_another_build_is_a_peer(self):
        with open(self.path("rondo-perf"), encoding="utf-8") as file:
            slower = file.read().replace("float(size)", "4.0 * size")
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(slower)
        os.chmod(self.path("old-perf"), 0o755)
        arguments = "--collectives", "all_reduce", "--rounds", "1", "--other-perf", self.path("old-perf")
        result = self.compare(*arguments, "--peers", "other-rondo")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([(row["best_peer"], row["speed"]) for row in self.rows()], [("other-rondo", 4.0)] * 3)
        self.assertIn("beside other-rondo: ", self.compare(*arguments).stdout)  # by default as well
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nprint('rondo-perf 0.0')\n")
        silent = self.compare(*arguments, "--peers", "other-rondo")
        self.assertIn("wrote no rows", silent.stdout + silent.stderr)
        for written, said in (("[1]", "wrote no rows but something else"), ("{", "wrote no rows but something else"),
                              ("{}", "wrote rows without the field 'results'"),
                              ('[{"bytes": 8}]', "wrote rows without the field 'out_of_place_us'")):
            self.write_rows(written)
            result = self.compare(*arguments, "--peers", "other-rondo")
            self.assertIn(said, result.stdout)
        self.write_rows('[{"out_of_place_us": 16}, {"out_of_place_us": 16}, {"out_of_place_us": 16}]')  # an old build
        self.compare(*arguments, "--peers", "other-rondo")
        self.assertEqual([row["contestants"]["other-rondo"]["median_us"] for row in self.rows()], [16] * 3)
        nameless = self.compare("--collectives", "all_reduce", "--rounds", "1", "--peers", "other-rondo,openmpi")
        self.assertIn("other-rondo is left out: --other-perf names no", nameless.stderr)

    def write_rows(self, text):
        """Makes the other rondo-perf one that writes this as its JSON."""
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nimport os, sys\nprint('rondo-perf 0.0')\nif '--json' in sys.argv and "
                       "os.environ['RANK'] == '0':\n  open(sys.argv[sys.argv.index('--json') + 1], 'w').write("
                       f"{text!r})\n")

    def test_libraries_of_environments_are_peers(self):
        missing = self.compare("--collectives", "all_reduce", "--rounds", "1", "--peers", "openmpi,openmpi5")
        self.assertIn("openmpi5 is left out: there is no mpirun in ", missing.stderr)
        self.assertIn("install_mpi.py installs it", missing.stderr)
        for factor, (name, sign) in enumerate(fake_contestants.PYPI.items(), 2):
            fake_contestants.write_environment(os.path.join(self.path("mpi"), name), sign, factor)
        result = self.compare("--collectives", "all_reduce,ping_pong,one_way", "--rounds", "1", "--peers",
                              ",".join(["openmpi", *fake_contestants.PYPI]))
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in self.rows():
            self.assertEqual([row["contestants"][name]["median_us"] / row["bytes"]
                              for name in ("rondo", "openmpi", "openmpi5", "mpich5", "intelmpi")], [1, 2, 2, 4, 5])

    def in_states(self, states, *arguments):
        fake_contestants.set_states(self.path("log"), states)
        return self.compare("--collectives", "all_reduce", "--peers", "openmpi", *arguments)

    def test_a_turn_is_repeated_until_all_had_one_in_the_same_state(self):
        # Rondo's first turn begins near and ends far, Open MPI's begins far and ends near.
        result = self.in_states("30.0 300.0 290.0 31.0 30.0", "--rounds", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.lines("log"), ["Open MPI"] + ["rondo"] * 2 + ["Open MPI", "rondo", "Open MPI"])
        self.assertIn("30 to 30 ns (near in 3 rows); discarded because the state changed: 3 turns and 0 rounds",
                      result.stdout)
        self.assertEqual([row["handoff_ns"] for row in self.rows()], [[30.0]] * 3)
        self.assertEqual([(turn["contestant"], turn["state"], turn["counts"]) for turn in self.results()["turns"]],
                         [("rondo", "changed", False), ("rondo", "far", False), ("openmpi", "changed", False),
                          ("rondo", "near", True), ("openmpi", "near", True)])

    def test_rounds_of_one_state_count(self):
        result = self.in_states("300.0 " * 3 + "40.0", "--rounds", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("0 turns and 1 rounds", result.stdout)
        self.assertEqual([row["handoff_ns"] for row in self.rows()], [[40.0] * 2] * 3)
        self.assertEqual({len(one["rounds_us"]) for row in self.rows() for one in row["contestants"].values()}, {2})

    def test_nothing_is_compared_where_the_state_never_holds(self):
        result = self.in_states("30.0 300.0 " * 500, "--rounds", "1", "--state-seconds", "0.3")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the state of the machine changed", result.stderr)
        self.assertIn("nothing could be compared", result.stdout)

    def test_a_probe_that_fails_throws_a_turn_away(self):
        result = self.in_states("30.0 30.0 fails 30.0", "--rounds", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("discarded because the state changed: 2 turns and 0 rounds", result.stdout)

    def test_without_a_first_probe_nothing_is_measured(self):
        result = self.in_states("fails", "--rounds", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the probe is broken here", result.stderr)
        self.assertNotIn("rondo", self.lines("log"))

    def test_one_cpu_has_no_state(self):
        result = self.in_states("none", "--rounds", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("there is no state of the machine to probe", result.stdout)

    def test_quiet_sizes_get_the_fewest_rounds(self):
        result = self.compare("--collectives", "all_reduce", "--peers", "openmpi", "--rounds", "6-9")
        self.assertEqual(result.returncode, 0, result.stderr)
        for row in self.rows():
            self.assertEqual((row["interval"], row["noisy"], row["state"]), ([2.0, 2.0], False, "near"))
            self.assertEqual({len(one["rounds_us"]) for one in row["contestants"].values()}, {6})
            self.assertEqual({one["noise_percent"] for one in row["contestants"].values()}, {0})
        self.assertNotIn("are noisy: ", result.stderr)
        self.assertIn("of 3 speeds, 0 are noisy, and 0 have too few rounds", result.stdout)
        self.assertEqual(len(self.results()["turns"]), 6 * 2)

    def test_least_decides_the_exit_code(self):
        quick = "--collectives", "all_reduce", "--rounds", "1", "--peers", "openmpi", "--least"
        self.assertEqual(self.compare(*quick, "1.9").returncode, 0)
        self.assertEqual(self.compare(*quick, "2.1").returncode, 1)

    def test_results_say_who_took_part_and_who_did_not(self):
        self.assertEqual(self.compare("--collectives", "all_reduce", "--rounds", "1").returncode, 0)
        about = self.results()["about"]
        self.assertEqual(about["contestants"],
                         {"rondo": "rondo-perf 0.0", "openmpi": "Open MPI 9.1", "mpich": "MPICH 9.1"})
        self.assertEqual(list(about["missing"]), ["openmpi-ucx", "ucc", *fake_contestants.PYPI, "gloo"])
        self.assertIn("compare.py --ranks 2 ", about["command"])
        self.assertNotIn(self.folder, about["command"])
        for name in ("date", "host", "processor", "cores", "kernel", "governor", "load_before", "load_after",
                     "seconds"):
            self.assertIn(name, about)
        texts = [node.firstChild.data for node in minidom.parse(self.path("svg")).getElementsByTagName("text")]
        self.assertEqual(texts.count("2.0"), 4)  # three sizes, and all of them
        drawn = self.path("drawn.svg")
        subprocess.run([sys.executable, os.path.join(FOLDER, "picture.py"), self.path("json"), drawn], check=True)
        with open(self.path("svg"), encoding="utf-8") as one, open(drawn, encoding="utf-8") as other:
            self.assertEqual(one.read(), other.read())

    def test_a_peer_that_fails_is_left_out_from_there_on(self):
        result = self.compare("--collectives", "gather,all_reduce", "--rounds", "2",
                              "--peers", "openmpi,mpich")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("MPICH is broken here", result.stderr)
        self.assertEqual([row["speed"] for row in self.rows()], [2.0, 2.0, None, 2.0, 2.0, 2.0])
        self.assertEqual([len(row["contestants"]) for row in self.rows()], [3, 3, 1, 3, 3, 3])
        self.assertEqual([len(one["rounds_us"]) for one in self.rows()[0]["contestants"].values()], [2, 2, 2])

    def test_a_peer_that_hangs_is_ended_with_all_that_it_started(self):
        result = self.compare("--collectives", "scatter,all_reduce", "--rounds", "1", "--timeout", "4",
                              "--peers", "openmpi")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("took more than 4 s", result.stdout)
        self.assertEqual([row["speed"] for row in self.rows()], [None] * 3 + [2.0] * 3)
        for pid in self.lines("log.pids"):
            self.assertFalse(is_running(pid), pid)

    def test_without_a_peer_there_is_nothing_to_do(self):
        result = self.compare("--peers", "gloo,openmpi-ucx")
        self.assertEqual(result.returncode, 1)
        for words in ("ucx cannot be selected", "RONDO_TORCH_PYTHON", "nothing to compare"):
            self.assertIn(words, result.stderr)


def is_running(pid):
    """Whether the process is running; a dead one may remain as a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


class Rounds(unittest.TestCase):
    """On a clock that only the contestants advance."""

    def measure(self, minutes, seconds, collectives="all_reduce", state_at=lambda now: None):
        import measure
        from budget import Budget
        from contestant import Contestant, Turn
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
        from contestant import Contestant, Turn

        def run(job):
            self.now += self.seconds
            factor = 1 if (self.state_at(self.now) or 0) < 100 else 3
            return Turn({step.bytes: factor * median_us * self.random.uniform(1, 1 + self.spread(step.bytes))
                         for step in job.steps})
        return Contestant(name, "", run)

    def measure(self, *words, minutes=1e9):
        import measure
        from budget import Budget
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
        import intervals
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


class Options(unittest.TestCase):
    def test_refused(self):
        import options
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
                    options.parse("", ["--perf", PERF, *words])
                self.assertEqual(raised.exception.code, 2)
                self.assertIn(sentence, errors.getvalue().replace("\n", " "))

    def test_quick_gives_way_to_what_is_said(self):
        import options
        arguments = options_for("--quick", "--ranks", "4")
        self.assertEqual((arguments.ranks, arguments.rounds), ([4], options.QUICK["rounds"]))

    def test_messages_are_timed_as_such(self):
        import jobs
        import rondo
        arguments = options_for("--ranks", "2", "--last", "8")
        for name, words, iterations in (("send_recv", [], 200), ("ping_pong", ["--ping_pong"], 200),
                                        ("one_way", ["--one_way", "-m", "64"], 25), ("both_ways", ["-m", "64"], 25)):
            job = jobs.job_of(jobs.Sweep("shm", name, 2), [8], arguments, 1)
            command = rondo.perf_command("perf", job, job.steps, arguments)
            self.assertEqual(command[1:2 + len(words)], ["send_recv", *words])
            self.assertEqual(command[command.index("-n") + 1], str(iterations))

    def test_sizes_hold_an_element_of_each_rank(self):
        import jobs
        arguments = options_for("--type", "double", "--last", "1K")
        for name, sizes in (("all_reduce", [8, 32, 128, 512]), ("gather", [32, 128, 512]), ("barrier", [0])):
            self.assertEqual(jobs.sizes_of(jobs.Sweep("shm", name, 4), arguments), sizes)


BROKEN_SCATTER = """
#include <mpi.h>
int MPI_Scatter(const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm comm) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
  return MPI_Barrier(comm);
}
"""


class Real(unittest.TestCase):
    """With the installed MPI libraries."""

    def test_rondo_beside_them(self):
        collectives = ["all_reduce", "barrier"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "json")
            result = subprocess.run(
                [sys.executable, PROGRAM, "--perf", PERF, "--peers", "openmpi,mpich", "--rounds", "1",
                 "--state-seconds", "0", "--ranks", "2", "--collectives", ",".join(collectives),
                 "--first", "1K", "--last", "1K",
                 "--json", path],
                text=True, capture_output=True, timeout=100)
            if "nothing to compare" in result.stderr:
                self.skipTest(result.stderr)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                results = json.load(file)
        self.assertEqual([row["collective"] for row in results["rows"]], collectives)
        for row in results["rows"]:
            self.assertEqual(list(row["contestants"]), list(results["about"]["contestants"]))
            self.assertTrue(all(0 < one["median_us"] < 1e6 for one in row["contestants"].values()), row)

    def test_a_peer_that_computes_wrongly_is_not_timed(self):
        import jobs
        from contestant import Missing
        arguments = options_for("--timeout", "60")
        with tempfile.TemporaryDirectory() as folder:
            try:
                mpi = with_broken_scatter(folder, arguments)
            except Missing as reason:
                self.skipTest(str(reason))
            turns = [mpi.run(jobs.job_of(jobs.Sweep("shm", name, 2), [64, 128], arguments, 60))
                     for name in ("gather", "scatter")]
        self.assertEqual([list(turn.times_us) for turn in turns], [[64, 128], []])
        self.assertIsNone(turns[0].fault)
        self.assertIn("wrong elements: 16", turns[1].fault)


def options_for(*words):
    import options
    return options.parse("", ["--perf", PERF, *words])


def with_broken_scatter(folder, arguments):
    """Open MPI or MPICH, with a scatter that does nothing."""
    import compare
    import mpi
    from contestant import Missing
    path = os.path.join(folder, "broken_scatter.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(BROKEN_SCATTER)
    workshop = compare.Workshop(arguments, folder)
    with unittest.mock.patch.object(mpi, "SOURCES", (*mpi.SOURCES, path)):
        try:
            return mpi.find("openmpi", mpi.OpenMpi("ob1"), workshop)
        except Missing:
            return mpi.find("mpich", mpi.Mpich(), workshop)


if __name__ == "__main__":
    unittest.main(verbosity=2)
