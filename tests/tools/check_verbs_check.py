#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/verbs-check with two shells of this machine as hosts, over the stand-in for libibverbs.

Usage: check_verbs_check.py SOURCE_ROOT BUILD_ROOT, with the stand-in first in LD_LIBRARY_PATH
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))


class VerbsCheck(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_check(self, *options, devices="roce:2"):
        """The finished process, and what it has written."""
        output = os.path.join(self.folder, "report.json")
        variables = {"RONDO_STANDIN_VERBS": self.folder, "RONDO_STANDIN_VERBS_DEVICES": devices}
        done = subprocess.run(
            [os.path.join(ROOT, "tools/verbs-check"), "--build", BUILD, "--remote", "env HOST={host} bash -s",
             "--address", "127.0.0.1", "--port", str(20000 + os.getpid() % 9000), "--output", output, *options,
             "one", "two"], capture_output=True, text=True, timeout=150, stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, **variables})
        if not os.path.exists(output):
            return done, None
        with open(output, encoding="utf-8") as file:
            return done, json.load(file)

    def test_all_between_two_hosts_is_right_and_written_down(self):
        done, report = self.run_check("--only", "hosts,collectives,kill,speed", "--rounds", "1",
                                      "--iterations", "10")
        failed = [case["case"] for case in report["cases"] if not case["passed"]]
        # On one host, shared memory is chosen unasked.
        self.assertEqual(failed, ["verbs is chosen unasked"], done.stdout + done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(list(report["hosts"]), ["one", "two"])
        self.assertRegex(report["kill"]["said"][-1], r"rank 1 \(process \d+ on host .*\) died")
        ways = {(row["collective"], row["way"]) for row in report["speed"]}
        self.assertEqual(len(ways), 12, ways)
        self.assertTrue(all(row["us"] > 0 for row in report["speed"]))
        self.assertGreater(report["ratios"]["all_reduce 8 verbs: time, of send_recv's"], 0)
        self.assertRegex(done.stdout, r"\d+ passed, 1 failed\n$")

    def test_what_fails_is_shown(self):
        done, report = self.run_check("--only", "collectives", devices="none")
        self.assertEqual(done.returncode, 1)
        self.assertIn("this host has no device", report["cases"][0]["output"])
        self.assertIn("FAILED every collective over verbs", done.stdout)

    def test_a_part_that_does_not_exist_is_refused(self):
        done, _ = self.run_check("--only", "hosts,sped")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no part 'sped': the parts are hosts, probes, collectives, kill, speed", done.stderr)

    def test_a_report_that_cannot_be_written_is_refused_first(self):
        done, _ = self.run_check("--output", os.path.join(self.folder, "none", "report.json"))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "report.json cannot be written: .*/none is not a folder")

    def test_a_folder_without_programs_is_refused(self):
        done, _ = self.run_check("--build", self.folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{self.folder} has no bench/perf/rondo-perf", done.stderr)


if __name__ == "__main__":
    unittest.main()
