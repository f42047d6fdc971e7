#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every program answers an unknown option or an invalid value with exit code 2.

Usage: check_usage.py ROOT PROGRAM...
"""
import os
import subprocess
import sys
import unittest

PROGRAMS = sys.argv[2:]
ROOT = sys.argv[1]
del sys.argv[1:]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={name: value for name, value in os.environ.items() if not name.startswith("RONDO_")})


class Usage(unittest.TestCase):
    def refused(self, *command):
        result = run(*command)
        self.assertEqual(result.returncode, 2, (command, result.stdout, result.stderr))
        self.assertTrue(result.stderr, command)

    def test_programs(self):
        for program in PROGRAMS:
            self.refused(program, "--no-such-option")
            self.assertIn(os.path.basename(program) + ": ", run(program, "--no-such-option").stderr)

    def test_scripts(self):
        for script in ("tools/test", "tools/quickstart", "tools/gpu-check", "tools/check", "bench/compare/compare.py",
                       "bench/numerics/numerics.py"):
            self.refused(os.path.join(ROOT, script), "--no-such-option")

    def test_values(self):
        for words in (["--suite"], ["-j", "many"], ["-j0"], ["--sanitize=soap"], ["--coverage", "--sanitize=thread"]):
            self.refused(os.path.join(ROOT, "tools/test"), *words)
        self.refused(os.path.join(ROOT, "tools/check"))
        for words in ([], ["one", "two"], ["--build"], ["--what"]):
            self.refused(os.path.join(ROOT, "tools/gpu-check"), "bundle", *words)


if __name__ == "__main__":
    unittest.main(verbosity=1)
