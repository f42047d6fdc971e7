# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays in memory that ranks of the host read in place (rondo.lend_arrays())."""
import concurrent.futures
import contextvars
import os
import subprocess
import sys
import unittest

import rondo
import users

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

LARGE = 1 << 19
CALLS = """
import numpy as np, rondo
LENDS
with rondo.init() as comm:
    for round in range(20):
        data = np.arange(300_000 + round, dtype=np.int64) + comm.rank
        comm.all_reduce(data)
        assert (data == 2 * np.arange(300_000 + round) + 1).all()
"""
IN_PLACE = "peers read large blocks of this process in place"


def handler_of(array):
    core = getattr(np, "_core", None) or np.core
    return core.multiarray.get_handler_name(array)


class Arrays(unittest.TestCase):
    def test_what_is_lent(self):
        before = np.ones(LARGE)
        with rondo.lend_arrays() as lent:
            arrays = [np.ones(LARGE), np.zeros((3, LARGE // 8), np.int16), np.empty(1), np.arange(0)]
            self.assertEqual([handler_of(array) for array in arrays], ["rondo"] * 4)
            arrays[0].resize(2 * LARGE)
            self.assertEqual(arrays[0].sum(), LARGE)
            self.assertFalse(arrays[1].any())
            np.testing.assert_array_equal(np.sort(np.arange(LARGE)[::-1]), np.arange(LARGE))
        self.assertEqual(handler_of(np.ones(LARGE)), handler_of(before))
        lent.close()  # again
        self.assertEqual(arrays[0][:LARGE].sum(), LARGE)

    def test_nested(self):
        with rondo.lend_arrays():
            with rondo.lend_arrays():
                pass
            self.assertEqual(handler_of(np.ones(5)), "rondo")
        self.assertNotEqual(handler_of(np.ones(5)), "rondo")

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(1) as pool, rondo.lend_arrays():
            kept = contextvars.copy_context()
            self.assertEqual(pool.submit(kept.run, lambda: handler_of(np.ones(5))).result(), "rondo")

    def test_ranks_read_them_in_place(self):
        for lends, times in ("", 0), ("rondo.lend_arrays()", 2):
            ended = subprocess.run([os.environ["RONDO_TEST_RUN"], "-n", "2", sys.executable, "-c",
                                    CALLS.replace("LENDS", lends)], capture_output=True, text=True, timeout=60,
                                   env=users.environment(RONDO_LOG="info", RONDO_TRANSPORT="shm"), check=False)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(ended.stderr.count(IN_PLACE), times, ended.stderr)


if __name__ == "__main__":
    unittest.main()
