#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/numerics as a program: on Rondo, whose errors stay within their bounds, and on a wrong sum.

Usage: check_numerics.py SOURCE_ROOT RONDO_SUMS
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

SUMS = sys.argv.pop(2)
ROOT = sys.argv.pop(1)
PROGRAM = os.path.join(ROOT, "bench/numerics/numerics.py")

# Returns the first rank's vector instead of the sum.
NO_SUM = """#!/usr/bin/env python3
import sys
if sys.argv[1] == "list":
    print("one_shot")
    sys.exit()
_, ranks, _, source, result, _ = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()
with open(result, "wb") as file:
    file.write(data[:len(data) // int(ranks)])
print("roundings of an operand to float32: at most 1")
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env=dict(os.environ, RONDO_TORCH_PYTHON=""))


def numerics(sums, *arguments):
    return run(sys.executable, PROGRAM, "--sums", sums, "--count", "700", *arguments)


class Numerics(unittest.TestCase):
    def test_every_algorithm_keeps_its_bound(self):
        names = run(SUMS, "list").stdout.split()
        for data in ("positive", "signed"):
            result = numerics(SUMS, "--ranks", "2,3,5,9", "--data", data)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            for what in ("mean", "maximum", "bound"):
                self.assertIn(f"| bfloat16, {what} | 2 ranks | 3 ranks | 5 ranks | 9 ranks |", result.stdout)
            self.assertIn("hierarchical", names)
            for name in names:
                self.assertEqual(len(re.findall(rf"(?m)^\| {name} (?:\| (?:-|[\d.]+) ){{4}}\|$", result.stdout)), 9,
                                 name + "\n" + result.stdout)

    def test_one_fold_rounds_once(self):
        tables = numerics(SUMS, "--ranks", "16", "--types", "half").stdout
        maxima = tables.partition("| half, maximum |")[2].partition("\n\n")[0]
        errors = {name: float(value) for name, value in re.findall(r"\| (\w+) \| ([\d.]+) \|", maxima)}
        for name in ("one_shot", "two_shot", "parameter_server"):
            self.assertLess(errors[name], 1.01)
        self.assertGreater(errors["ring"], 1.5)

    def test_a_wrong_sum_is_above_the_bound(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "no-sum")
            with open(path, "w", encoding="utf-8") as file:
                file.write(NO_SUM)
            os.chmod(path, 0o755)
            result = numerics(path, "--ranks", "2", "--types", "float")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"one_shot, float, 2 ranks: an error of [\d.]+ is above the bound")

    def test_the_bound_follows_from_the_roundings_of_the_algorithm(self):
        """Against the closed forms of docs/algorithms.md, for 2^k ranks and groups of 2."""
        tables = numerics(SUMS, "--ranks", "8", "--types", "float").stdout
        bounds = dict(re.findall(r"\| (\w+) \| ([\d.]+) \|", tables.partition("| float, bound |")[2]))
        self.assertEqual({name: bounds[name] for name in ("one_shot", "ring", "recursive_doubling", "leaders")},
                         {"one_shot": "7.00", "ring": "7.00", "recursive_doubling": "3.00", "leaders": "4.00"})

    def test_invalid_arguments_are_refused(self):
        for arguments in (["--ranks", "1"], ["--ranks", "x"], ["--types", "int"], ["--count", "0"], ["--data", "odd"]):
            self.assertEqual(numerics(SUMS, *arguments).returncode, 2, arguments)
        self.assertIn("usage: rondo-sums", run(SUMS, "float", "2").stderr)
        refused = numerics("/nowhere/sums")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("there is no such program", refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
