#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How rondo-perf ends if results are wrong, a rank ends or hangs, or the run is stopped.

Usage: check_perf_faults.py RONDO_PERF BROKEN_LIBRARY
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from perf_command import PERF, QUICK, PerfCase, loaded, run

BROKEN_LIBRARY = sys.argv.pop(1)


def broken_by(how):
    """Variables by which the library has this fault."""
    return {"LD_PRELOAD": BROKEN_LIBRARY, "BROKEN": how}


class WrongResults(PerfCase):
    def broken(self, how, *arguments, code):
        arguments = arguments or ("all_reduce",)
        return self.ended(*arguments, "--ranks", "3", "-b", "4K", "-e", "4K", *QUICK, env=broken_by(how), code=code)

    def test_without_a_fault_all_is_right(self):
        self.broken("", code=0)

    def test_one_wrong_value_is_counted_and_fails(self):
        result = self.broken("value", code=1)
        self.assertRegex(result.stdout, r" 1 +[\d.]+ +[\d.]+ +[\d.]+ +1\n")
        self.assertIn("# Out of bounds values : 2 FAILED", result.stdout)

    def test_a_result_that_never_came_is_wrong_everywhere(self):
        self.assertIn("# Out of bounds values : 2048 FAILED", self.broken("nothing", code=1).stdout)

    def test_writes_outside_of_the_buffers_are_noticed(self):
        for how in ("before", "after", "input"):
            result = self.broken(how, code=1)
            self.assertRegex(result.stdout, r"# Out of bounds values : [12] FAILED")

    def test_a_result_where_none_belongs_is_noticed(self):
        result = self.broken("elsewhere", "reduce", code=1)
        self.assertIn("# Out of bounds values : 2 FAILED", result.stdout)

    def test_a_rank_that_leaves_ends_the_run(self):
        start = time.monotonic()
        result = run(PERF, "all_reduce", "--ranks", "3", "-b", "4K", "-e", "4K", *QUICK, env=broken_by("exit"))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rondo-perf: rank [02]: RONDO_REMOTE_ERROR: .*\b1\b")
        self.assertLess(time.monotonic() - start, 20)

    def test_rows_from_before_a_crash_of_rank_0_are_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            result = run(PERF, "all_reduce", "--ranks", "3", "-b", "2K", "-e", "8K", "-f", "2", *QUICK,
                         "--json", path, env=broken_by("crash"))
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual([row["bytes"] for row in loaded(path)["results"]], [2048, 4096], result.stderr)

    def test_a_row_that_hangs_is_ended(self):
        start = time.monotonic()
        self.broken("hang", "all_reduce", "-T", "1", code=3)
        self.assertLess(time.monotonic() - start, 20)


def processes_with(mark):
    """Ids of the processes whose environment contains the mark."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


class Ends(unittest.TestCase):
    def test_nothing_is_left_of_a_run_that_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            mark = f"rondo-perf-test-{os.getpid()}-{time.monotonic_ns()}"
            started = subprocess.Popen([PERF, "all_reduce", "--ranks", "3", "-b", "8", "-e", "8", "-N", "0"],
                                       stdout=subprocess.PIPE, env=dict(os.environ, RONDO_TEST_MARK=mark))
            while not started.stdout.readline().lstrip().startswith(b"8 "):
                self.assertIsNone(started.poll())
            self.assertEqual(len(processes_with(mark)), 4)
            started.send_signal(number)
            started.communicate(timeout=30)
            self.assertEqual(started.returncode, -number if number == signal.SIGKILL else 128 + number)
            end = time.monotonic() + 10
            while processes_with(mark) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(processes_with(mark), [], number)


if __name__ == "__main__":
    unittest.main()
