# SPDX-License-Identifier: Apache-2.0
"""Short runs of rondo-perf over one transport."""
import json
import os
import subprocess
import tempfile
import unittest


def run_perf(program, transport, *arguments, **variables):
    """Returns the finished process, and its rows if it succeeded; a variable that is None is not set."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "RANK": None, "WORLD_SIZE": None, **variables}
        path = os.path.join(folder, "rows.json")
        result = subprocess.run([program, *arguments, "--transport", transport, "-n", "2", "-w", "1", "--json", path],
                                capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                                env={name: value for name, value in environment.items() if value is not None})
        if result.returncode != 0:
            return result, []
        with open(path, encoding="utf-8") as file:
            return result, json.load(file)["results"]


class PerfCase(unittest.TestCase):
    def check_right(self, transport, run):
        """The rows of what run_perf() returned, which must be right."""
        result, rows = run
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual((row["wrong"], row["transport"]), (0, transport), row)
        return rows
