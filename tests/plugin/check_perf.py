#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-perf between processes over the plugin transport, on the tests' own network plugin.

Usage: check_perf.py RONDO_PERF FOLDER_OF_THE_PLUGINS
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

FOLDER = sys.argv.pop()
PERF = sys.argv.pop()


def perf(*arguments, version=11, **variables):
    """Runs it with the plugin of this version."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE", "NCCL_NET_PLUGIN")}
        environment["RONDO_NET_PLUGIN"] = f"{FOLDER}/libnccl-net-test{version}.so"
        environment["RONDO_TEST_NET_FAULT"] = "no_inflight"
        environment.update(variables)
        path = os.path.join(folder, "rows.json")
        result = subprocess.run([PERF, *arguments, "--transport", "plugin", "-n", "2", "-w", "1", "--json", path],
                                capture_output=True, text=True, timeout=100, env=environment,
                                stdin=subprocess.DEVNULL)
        if result.returncode != 0:
            return result, []
        with open(path, encoding="utf-8") as file:
            return result, json.load(file)


class Perf(unittest.TestCase):
    def right(self, *arguments, **options):
        result, rows = perf(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["wrong"], row["transport"]), (0, "plugin"), row)
        return rows

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
