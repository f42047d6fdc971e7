#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-perf between processes over the plugin transport, on the tests' own network plugin.

Usage: check_perf.py RONDO_PERF FOLDER_OF_THE_PLUGINS
"""
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True

from perf_rows import PerfCase, run_perf  # noqa: E402

FOLDER = sys.argv.pop()
PERF = sys.argv.pop()


def perf(*arguments, version=11, **variables):
    """Runs it with the plugin of this version."""
    defaults = {"NCCL_NET_PLUGIN": None, "RONDO_NET_PLUGIN": f"{FOLDER}/libnccl-net-test{version}.so",
                "RONDO_TEST_NET_FAULT": "no_inflight"}
    return run_perf(PERF, "plugin", *arguments, **{**defaults, **variables})


class Perf(PerfCase):
    def right(self, *arguments, **options):
        return self.check_right("plugin", perf(*arguments, **options))

    def wrong(self, words, *arguments, **options):
        result, _ = perf(*arguments, **options)
        self.assertEqual(result.returncode, 3, result.stdout + result.stderr)  # an error, and no crash
        self.assertIn(words, result.stdout + result.stderr)

    def test_every_collective_between_two_processes(self):
        rows = self.right("all", "--ranks", "2", "-b", "8", "-e", "1M", "-f", "64")
        self.assertGreater(len({row["collective"] for row in rows}), 8)

    def test_every_version(self):
        for version in (8, 9, 10, 11):
            self.right("all_reduce", "--ranks", "4", "-b", "8", "-e", "512K", "-f", "16", version=version,
                       RONDO_TEST_NET_SEED=str(version))

    def test_a_plugin_that_does_not_exist_is_named(self):
        self.wrong("the network plugin libnccl-net-none_such.so cannot be used", "all_reduce", "--ranks", "2",
                   RONDO_NET_PLUGIN="none_such")

    def test_a_plugin_that_fails_is_named(self):
        self.wrong("isend() of the network plugin TestNet failed: ncclSystemError (2)", "all_reduce", "--ranks", "2",
                   RONDO_TEST_NET_FAULT="send:5")

    def test_deadlines_hold_although_the_plugin_completes_nothing(self):
        for fault in ("never_connects", "stuck:3"):
            before = time.monotonic()
            self.wrong("RONDO_TIMEOUT", "all_reduce", "--ranks", "2", RONDO_TEST_NET_FAULT=fault, RONDO_TIMEOUT="2")
            self.assertLess(time.monotonic() - before, 30)


if __name__ == "__main__":
    unittest.main()
