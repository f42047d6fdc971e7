#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/compare beside the MPI libraries that are installed.

Usage: check_compare_mpi.py SOURCE_ROOT RONDO_PERF
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from compare_folder import PROGRAM, options_for

import compare
import jobs
import mpi
from contestant import Missing

PERF = sys.argv.pop(1)
BROKEN_SCATTER = """
#include <mpi.h>
int MPI_Scatter(const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm comm) {
  (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g;
  return MPI_Barrier(comm);
}
"""


class InstalledLibraries(unittest.TestCase):
    def test_rondo_beside_them(self):
        collectives = ["all_reduce", "barrier"]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "json")
            result = subprocess.run(
                [sys.executable, PROGRAM, "--perf", PERF, "--peers", "openmpi,mpich", "--rounds", "1",
                 "--state-seconds", "0", "--ranks", "2", "--collectives", ",".join(collectives),
                 "--first", "1K", "--last", "1K", "--json", path],
                text=True, capture_output=True, timeout=100)
            if "nothing to compare" in result.stderr:
                self.skipTest(result.stderr)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                results = json.load(file)
        self.assertEqual([row["collective"] for row in results["rows"]], collectives)
        for row in results["rows"]:
            self.assertEqual(list(row["contestants"]), list(results["about"]["contestants"]))
            self.assertTrue(all(0 < one["median_us"] < 1e6 for one in row["contestants"].values()), row)

    def test_a_peer_that_computes_wrongly_is_not_timed(self):
        arguments = options_for("--timeout", "60")
        with tempfile.TemporaryDirectory() as folder:
            try:
                peer = with_broken_scatter(folder, arguments)
            except Missing as reason:
                self.skipTest(str(reason))
            turns = [peer.run(jobs.job_of(jobs.Sweep("shm", name, 2), [64, 128], arguments, 60))
                     for name in ("gather", "scatter")]
        self.assertEqual([list(turn.times_us) for turn in turns], [[64, 128], []])
        self.assertIsNone(turns[0].fault)
        self.assertIn("wrong elements: 16", turns[1].fault)


def with_broken_scatter(folder, arguments):
    """Open MPI or MPICH, with a scatter that does nothing."""
    path = os.path.join(folder, "broken_scatter.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write(BROKEN_SCATTER)
    workshop = compare.Workshop(arguments, folder)
    with unittest.mock.patch.object(mpi, "SOURCES", (*mpi.SOURCES, path)):
        try:
            return mpi.find("openmpi", mpi.OpenMpi("ob1"), workshop)
        except Missing:
            return mpi.find("mpich", mpi.Mpich(), workshop)


if __name__ == "__main__":
    unittest.main()
