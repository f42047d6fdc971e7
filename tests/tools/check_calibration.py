#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-topo --calibrate: what it measures is kept, and used by later jobs.

usage: check_calibration.py RONDO_TOPO RONDO_PERF
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOPO, PERF = sys.argv.pop(1), sys.argv.pop(1)


def run(*command, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("RONDO_CALIBRATION", "RONDO_ALGORITHM", "XDG_CACHE_HOME")}
    return subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, timeout=100,
                          check=False)


class Calibration(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def explained(self, **variables):
        """What --explain says of the executor shm_pull, and standard error."""
        ended = run(PERF, "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "--explain", **variables)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return re.search(r"predicted over shm_pull .*", ended.stdout)[0], ended.stderr

    def test_measured_costs_are_kept_and_used(self):
        built_in, _ = self.explained(XDG_CACHE_HOME=self.folder)
        ended = run(TOPO, "--calibrate", "--seconds", "1", XDG_CACHE_HOME=self.folder)
        if "this host is busy" in ended.stderr:
            print("skipped: other processes use the CPUs")
            self.assertEqual((ended.returncode, glob.glob(self.folder + "/rondo/*")), (1, []))
            return
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"(?m)^by built-in costs predictions are off by \d+% in the median; \d+% of \d+")
        self.assertRegex(ended.stdout, r"(?m)^by measured costs predictions are off by \d+% in the median")
        (path,) = glob.glob(self.folder + "/rondo/costs-*")
        self.assertTrue(ended.stdout.endswith(f"\nsaved: {path}\n"), ended.stdout)
        with open(path, encoding="utf-8") as file:
            saved = dict(line.rsplit(" ", 1) for line in file.read().splitlines())
        measured, errors = self.explained(XDG_CACHE_HOME=self.folder)
        self.assertEqual(errors, "")
        shown = re.search(r"; ([^ ]+) us a round", measured)[1]
        expected = (float(saved["pull.latency_us"]), 2 * float(saved["shared_cpu_pull.latency_us"]))
        self.assertTrue(any(abs(float(shown) - cost) <= 0.01 * cost for cost in expected), (shown, expected))
        costs = run(TOPO, "--costs", XDG_CACHE_HOME=self.folder).stdout
        self.assertEqual(costs.count(f"  measured: {path}, {saved['measured']}\n"), 5, costs)
        self.assertEqual(self.explained(XDG_CACHE_HOME=self.folder, RONDO_CALIBRATION="0")[0], built_in)

    def test_a_damaged_file_is_ignored_with_one_warning(self):
        path = os.path.join(self.folder, "costs")
        built_in, _ = self.explained(RONDO_CALIBRATION="0")
        for text, what in ((b"", "line 1 is ''"), (b"rondo-costs 1\nversion 0.0.1\n", "line 2 is 'version 0.0.1'"),
                           (b"\0" * 99_999, "line 1 is ")):
            with open(path, "wb") as file:
                file.write(text)
            line, errors = self.explained(RONDO_CALIBRATION=path)
            self.assertEqual(line, built_in)
            self.assertEqual(errors.count(what), errors.count(path), errors)
            self.assertIn(what, errors)
            self.assertIn("it is ignored", errors)
        self.assertIn("No such file or directory", self.explained(RONDO_CALIBRATION=path + "x")[1])

    def test_what_cannot_be_saved_is_not_measured(self):
        ended = run(TOPO, "--calibrate", "--seconds", "60", XDG_CACHE_HOME="/proc/nowhere")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("cannot make the folder /proc/nowhere/rondo: ", ended.stderr)
        ended = run(TOPO, "--calibrate", HOME="", XDG_CACHE_HOME="here")
        self.assertIn("neither XDG_CACHE_HOME nor HOME is an absolute path", ended.stderr)
        ended = run(TOPO, "--calibrate", RONDO_CALIBRATION="0")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("RONDO_CALIBRATION is 0", ended.stderr)

    def test_options_that_make_no_sense_are_refused(self):
        for words in (["--seconds", "3"], ["--calibrate", "--seconds", "0"], ["--calibrate", "--costs"],
                      ["--calibrate", "--machine", "dgx-2"]):
            self.assertEqual(run(TOPO, *words, XDG_CACHE_HOME=self.folder).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
