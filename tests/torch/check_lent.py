# SPDX-License-Identifier: Apache-2.0
"""Tensors on the CPU that other ranks of the host read in place (RONDO_LEND_TENSORS)."""
import os
import subprocess
import sys
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lent_program.py")
IN_PLACE = "peers read large blocks of this process in place"


def run(**variables):
    kept = {name: value for name, value in os.environ.items() if name != "RONDO_LEND_TENSORS"}
    return subprocess.run([sys.executable, PROGRAM], env={**kept, "RONDO_LOG": "info", **variables},
                          capture_output=True, text=True, timeout=120, check=False)


class Lent(unittest.TestCase):
    def expect(self, times, **variables):
        """How many ranks lend memory."""
        ended = run(**variables)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stderr.count(IN_PLACE), times, ended.stderr)

    def test_where_ranks_share_memory(self):
        self.expect(2, RONDO_LEND_TENSORS="1")

    def test_not_over_tcp(self):
        self.expect(0, RONDO_LEND_TENSORS="1", RONDO_TRANSPORT="tcp")

    def test_off(self):
        self.expect(0, RONDO_LEND_TENSORS="0")

    def test_other_values(self):
        ended = run(RONDO_LEND_TENSORS="yes")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("RONDO_LEND_TENSORS is 'yes': it must be 0 or 1, or not set", ended.stderr)


if __name__ == "__main__":
    unittest.main()
