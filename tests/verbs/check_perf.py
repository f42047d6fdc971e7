#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-perf between processes over the verbs transport, on the stand-in for libibverbs.

Usage: check_perf.py RONDO_PERF, with the stand-in first in LD_LIBRARY_PATH
"""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
sys.dont_write_bytecode = True

from perf_rows import PerfCase, run_perf  # noqa: E402

PERF = sys.argv.pop(1)


def perf(*arguments, RONDO_LOG=None, **standin):
    """Runs it in a fabric of its own; names of `standin` are variables without RONDO_STANDIN_VERBS_."""
    with tempfile.TemporaryDirectory() as folder:
        variables = {"RONDO_STANDIN_VERBS_" + name: value for name, value in standin.items()}
        return run_perf(PERF, "verbs", *arguments, RONDO_STANDIN_VERBS=folder, RONDO_LOG=RONDO_LOG,
                        **variables)


class Perf(PerfCase):
    def right(self, *arguments, **standin):
        return self.check_right("verbs", perf(*arguments, **standin))

    def test_every_collective_between_two_processes(self):
        rows = self.right("all", "--ranks", "2", "-b", "8", "-e", "1M", "-f", "64")
        self.assertGreater(len({row["collective"] for row in rows}), 8)

    def test_two_ports_and_events_in_any_order(self):
        for seed in ("1", "2"):
            self.right("all_reduce", "--ranks", "4", "-b", "8", "-e", "512K", "-f", "16", DEVICES="roce:2", SEED=seed)

    def test_registered_memory(self):
        for how, devices in (("1", "roce"), ("2", "roce,roce")):
            run = perf("all", "--ranks", "2", "-b", "4K", "-e", "1M", "-f", "256", "-R", how, RONDO_LOG="debug",
                       DEVICES=devices)
            self.check_right("verbs", run)
            self.assertIn("of registered memory leave from where they are", run[0].stderr)

    def test_infiniband(self):
        self.right("all_to_all", "--ranks", "3", "-b", "8", "-e", "64K", "-f", "64", DEVICES="ib:1")

    def test_a_host_without_a_device_is_an_error_that_says_so(self):
        result, _ = perf("all_reduce", "--ranks", "2", DEVICES="none")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("InfiniBand verbs cannot be used: this host has no device", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
