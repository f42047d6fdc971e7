#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""plan-scale: what it says about plans for many hosts holds, and is what docs/scale.md says.

usage: check_scale.py PLAN_SCALE SOURCE_ROOT
"""
import math
import re
import subprocess
import sys
import unittest

PROGRAM, ROOT = sys.argv.pop(1), sys.argv.pop(1)
SIMULATED = 64
HOSTS = 12_500


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=100, check=False)


def rows_of(text):
    """The cells of the tables' rows."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if not row[0].startswith("-")]


class Scale(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ended = run("--simulate-to", str(SIMULATED))
        assert ended.returncode == 0, ended.stderr
        plans, times = ended.stdout.split("Microseconds of an all_reduce")
        cls.plans, cls.times = rows_of(plans)[1:], rows_of(times)
        with open(f"{ROOT}/docs/scale.md", encoding="utf-8") as file:
            cls.page = rows_of(file.read())

    def test_a_rank_of_100_000_makes_its_plan_at_once_in_little_memory_with_few_connections(self):
        made = [row for row in self.plans if row[1] != "-"]
        self.assertEqual(len(made), 3)
        for name, time, kib, steps, near, far in made:
            with self.subTest(name):
                self.assertLess(float(time), 10)
                self.assertLess(float(kib), 1024)
                self.assertGreater(int(steps), 0)
                self.assertLess(int(near), 8)
                self.assertLessEqual(int(far), 2 * math.log2(HOSTS) + 2)

    def test_short_calls_take_what_the_formula_says(self):
        compared = 0
        for size, ranks, *cells in self.times[1:]:
            for cell in cells:
                both = re.fullmatch(r"(\d+) \((\d+)\)", cell)
                if both is None or size != "8":
                    continue
                compared += 1
                self.assertAlmostEqual(float(both[1]), float(both[2]), delta=5, msg=f"{ranks} ranks: {cell}")
        self.assertEqual(compared, 10)

    def test_levels_are_faster_than_a_flat_ring_and_tree_at_every_size(self):
        for size, ranks, ring, tree, *levels in self.times[1:]:
            fastest = min(int(cell.split()[0]) for cell in levels if cell != "-")
            for flat in (ring, tree):
                if flat != "-":
                    self.assertLess(fastest, int(flat.split()[0]), f"{size} bytes, {ranks} ranks")

    def test_the_page_has_the_numbers_that_the_program_prints(self):
        for row in self.plans:
            self.assertIn([row[0], *row[3:]], [[said[0], *said[3:]] for said in self.page])
        said = {tuple(row[:2]): row[2:] for row in self.page}
        for size, ranks, *cells in self.times:
            for found, there in zip(cells, said[(size, ranks)], strict=True):
                self.assertTrue(there.startswith(found), f"{size} bytes, {ranks} ranks: {there} instead of {found}")

    def test_what_it_does_not_know_is_refused(self):
        for words in (["-x"], ["--simulate-to"], ["--simulate-to", "4x"], ["--simulate-to", "4", "5"]):
            ended = run(*words)
            self.assertEqual(ended.returncode, 2)
            self.assertIn("--simulate-to RANKS, a whole number", ended.stderr)
        self.assertEqual(run("--help").returncode, 0)


if __name__ == "__main__":
    unittest.main()
