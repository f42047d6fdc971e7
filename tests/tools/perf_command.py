# SPDX-License-Identifier: Apache-2.0
"""rondo-perf as tests run it; takes the first argument of the test's program: RONDO_PERF."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PERF = sys.argv.pop(1)
QUICK = ["-n", "2", "-w", "1"]


def run(*command, env=None):
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    # The address sanitizer wants to be loaded first; it also works behind the broken library.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    environment.update(env or {})
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment,
                          stdin=subprocess.DEVNULL)


def loaded(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class PerfCase(unittest.TestCase):
    def ended(self, *arguments, code=0, command=(PERF,), env=None):
        """The process, which has ended with this exit code."""
        result = run(*command, *arguments, env=env)
        self.assertEqual(result.returncode, code, f"{arguments}: {result.stdout}{result.stderr}")
        return result

    def document(self, *arguments, iterations=QUICK, **more):
        """A run's JSON file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            self.ended(*arguments, *iterations, "--json", path, **more)
            return loaded(path)

    def rows(self, *arguments, **more):
        return self.document(*arguments, **more)["results"]

    def right(self, *arguments, **more):
        rows = self.rows(*arguments, **more)
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(row["wrong"], 0, row)
        return rows
