#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What bench/compare reports of contestants with known times.

Usage: check_compare.py SOURCE_ROOT
"""
import os
import subprocess
import sys
import unittest
from xml.dom import minidom

import fake_contestants
from compare_folder import FOLDER


class Reports(fake_contestants.FakeCase):
    def test_the_table_has_the_medians_and_the_ratio_to_the_best_peer(self):
        result = self.compare("--collectives", "all_reduce,barrier", "--rounds", "2")
        table = [line.split() for line in result.stdout.splitlines() if line.startswith("  ")]
        self.assertEqual(table, [
            ["shm", "all_reduce", "2", "8", "8.00", "16.00", "24.00", "2.00", "-", "openmpi"],
            ["shm", "all_reduce", "2", "128", "128.00", "256.00", "384.00", "2.00", "-", "openmpi"],
            ["shm", "all_reduce", "2", "2048", "2,048.00", "4,096.00", "6,144.00", "2.00", "-", "openmpi"],
            ["shm", "barrier", "2", "0", "1.00", "2.00", "3.00", "2.00", "-", "openmpi"]])
        for line in ("shm, all_reduce, 2 ranks: geometric mean of the speed 2.00, minimum 2.00",
                     "shm: geometric mean of the speed 2.00",
                     "beside mpich: geometric mean of the speed 3.00"):
            self.assertIn("# " + line, result.stdout)

    def test_each_round_begins_with_another_contestant(self):
        self.compare("--collectives", "all_reduce", "--rounds", "3", "--peers", "openmpi,mpich")
        turns = ["rondo", "Open MPI", "MPICH"]
        probes = turns[1:]
        self.assertEqual(self.lines("log"), probes + turns + turns[1:] + turns[:1] + turns[2:] + turns[:2])

    def test_in_place_is_the_in_place_row(self):
        self.compare("--collectives", "reduce", "--rounds", "1", "--in-place", "--peers", "openmpi")
        self.assertEqual([row["speed"] for row in self.rows()], [4.0] * 3)

    def test_quiet_sizes_get_the_fewest_rounds(self):
        result = self.compare("--collectives", "all_reduce", "--peers", "openmpi", "--rounds", "6-9")
        for row in self.rows():
            self.assertEqual((row["interval"], row["noisy"], row["state"]), ([2.0, 2.0], False, "near"))
            self.assertEqual({len(one["rounds_us"]) for one in row["contestants"].values()}, {6})
            self.assertEqual({one["noise_percent"] for one in row["contestants"].values()}, {0})
        self.assertNotIn("are noisy: ", result.stderr)
        self.assertIn("of 3 speeds, 0 are noisy, and 0 have too few rounds", result.stdout)
        self.assertEqual(len(self.results()["turns"]), 6 * 2)

    def test_least_decides_the_exit_code(self):
        quick = "--collectives", "all_reduce", "--rounds", "1", "--peers", "openmpi", "--least"
        self.compare(*quick, "1.9")
        self.compare(*quick, "2.1", code=1)

    def test_results_say_who_took_part_and_who_did_not(self):
        self.compare("--collectives", "all_reduce", "--rounds", "1")
        about = self.results()["about"]
        self.assertEqual(about["contestants"],
                         {"rondo": "rondo-perf 0.0", "openmpi": "Open MPI 9.1", "mpich": "MPICH 9.1"})
        self.assertEqual(list(about["missing"]),
                         ["openmpi-ucx", "ucc", *fake_contestants.PYPI, "gloo", "deepspeed", "vllm"])
        self.assertIn("compare.py --ranks 2 ", about["command"])
        self.assertNotIn(self.folder, about["command"])
        for name in ("date", "host", "processor", "cores", "kernel", "governor", "load_before", "load_after",
                     "seconds"):
            self.assertIn(name, about)
        texts = [node.firstChild.data for node in minidom.parse(self.path("svg")).getElementsByTagName("text")]
        self.assertEqual(texts.count("2.0"), 4)  # three sizes, and all of them
        drawn = self.path("drawn.svg")
        subprocess.run([sys.executable, os.path.join(FOLDER, "picture.py"), self.path("json"), drawn], check=True)
        with open(self.path("svg"), encoding="utf-8") as one, open(drawn, encoding="utf-8") as other:
            self.assertEqual(one.read(), other.read())


if __name__ == "__main__":
    unittest.main()
