#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks whose memory of malloc() (under rondo-run --heap) or of rondo_malloc() peers read in place: results are right.

Usage: check_ranks.py LIBRONDO_HEAP RANKS RONDO_RUN
"""
import os
import subprocess
import sys
import unittest

HEAP, RANKS, RUN = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]
IN_PLACE = "peers read large blocks of this process in place"


def run(*arguments, **environment):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RONDO_")}
    return subprocess.run([RUN, *arguments], capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL,
                          env={**kept, "RONDO_LOG": "info", "RONDO_TRANSPORT": "shm", **environment})


class Ranks(unittest.TestCase):
    def expect(self, ranks, case, lent, options=("--heap",), memory="", **environment):
        """`lent`: how many ranks at least lend memory; 0: none does."""
        result = run("-n", str(ranks), *options, RANKS, case, memory, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        said = result.stderr.count(IN_PLACE)
        self.assertTrue(lent <= said <= (ranks if lent else 0), result.stderr)

    def test_calls(self):
        for ranks, reads in ((2, "1"), (3, "0"), (4, "1")):
            self.expect(ranks, "calls", ranks, RONDO_READ_PEER=reads)

    def test_one_block_in_many_calls(self):
        self.expect(2, "same_blocks", 2)

    def test_all_algorithms_of_all_reduce(self):
        for algorithm in ("ring", "one_shot", "halving_doubling"):
            self.expect(4, "same_blocks", 4, RONDO_ALGORITHM=f"all_reduce={algorithm}@connections")

    def test_forks_amid_calls(self):
        for ranks, reads in ((2, "0"), (2, "1"), (3, "0")):
            self.expect(ranks, "forks", 1, RONDO_READ_PEER=reads)  # a rank may fork before each of its calls

    def test_rondo_malloc(self):
        for ranks in 2, 3:
            self.expect(ranks, "calls", ranks, options=(), memory="rondo")
        self.expect(2, "same_blocks", 2, options=(), memory="rondo")
        self.expect(2, "forks", 1, options=(), memory="rondo")

    def test_rondo_malloc_is_malloc_with_the_heap(self):
        self.expect(2, "calls", 2, memory="rondo")

    def test_from_which_size_on(self):
        self.expect(2, "calls", 0, options=(), memory="rondo", RONDO_HEAP_FROM="64M")

    def test_without_the_heap(self):
        self.expect(2, "calls", 0, options=())

    def test_tcp_does_without(self):
        self.expect(2, "calls", 0, RONDO_TRANSPORT="tcp")

    def test_other_preloaded_libraries_stay(self):
        result = run("-n", "1", "--heap", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD=HEAP)
        self.assertEqual(result.stdout, f"[0] {HEAP}:{HEAP}\n")


if __name__ == "__main__":
    unittest.main()
