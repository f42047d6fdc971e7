#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times of single iterations, which rondo-perf reports with -I.

Usage: check_perf_iterations.py RONDO_PERF
"""
import re
import unittest

from perf_command import QUICK, PerfCase


class Iterations(PerfCase):
    """-I, on every way of calling that has ends of iterations."""

    def check(self, *arguments):
        rows = self.rows(*arguments, "-I", "1", iterations=["-n", "9"])
        self.assertTrue(rows)
        for row in rows:
            for key, found in row.items():
                if key.endswith("_per_iter"):
                    self.check_statistics(row, key, found)
            self.assertIn("out_of_place_per_iter", row)
        return rows

    def check_statistics(self, row, key, found):
        self.assertEqual(len(found["times_us"]), 9, row)
        counted = sorted(found["times_us"][found["skipped_iterations"]:])
        order = [found[name] for name in ("min_us", "p50_us", "p95_us", "p99_us", "max_us")]
        self.assertEqual(order, sorted(order), row)
        self.assertEqual((found["min_us"], found["max_us"]), (counted[0], counted[-1]))
        self.assertGreaterEqual(found["min_us"], 0)
        self.assertAlmostEqual(found["avg_us"], sum(counted) / len(counted), places=3)
        self.assertGreater(row["clock_read_ns"], 0)
        # The slowest rank of each iteration takes at least the mean.
        if found["skipped_iterations"] == 0:
            self.assertGreaterEqual(found["avg_us"] * 1.001, row[key.replace("per_iter", "us")], row)

    def test_collectives_and_messages(self):
        self.check("all", "--ranks", "2", "-b", "64", "-e", "64")
        self.check("all_reduce,send_recv", "-t", "3", "-b", "64", "-e", "64K", "-f", "1024")
        for messages in "--ping_pong", "--one_way":
            self.check("send_recv", messages, "--ranks", "2", "-b", "64", "-e", "64")

    def test_ways_of_timing(self):
        for way in (["--fresh"], ["-z", "1"], ["-z", "2"], ["-z", "3"], ["-C", "1"], ["-m", "4"], ["-a", "3"],
                    ["--queue", "-z", "2"], ["--queue", "--fresh"], ["-K", "8"], ["-N", "2"]):
            with self.subTest(way=way):
                rows = self.check("all_reduce", "--ranks", "2", "-b", "64", "-e", "64", *way)
                self.assertEqual(rows[0]["out_of_place_per_iter"]["skipped_iterations"], 8 * (way[0] == "-K"))

    def test_the_table_has_columns_for_them_and_says_what_they_cost(self):
        result = self.ended("all_reduce", "--ranks", "2", "-b", "8", "-e", "64", "-f", "8", "-I", "1", "-K", "1",
                            *QUICK)
        self.assertRegex(result.stdout, r"(?m)^# i_\*: over the iterations, without the first 1, of each the slowest "
                                        r"rank's; reading the clock takes \d+ ns, once per iteration$")
        titles = re.search(r"(?m)^# +size .*", result.stdout)[0].split()[1:]
        for line in [line for line in result.stdout.splitlines() if not line.startswith("#")]:
            columns = dict(zip(titles, line.split()))
            times = [float(columns[name]) for name in ("i_min", "i_p50", "i_p95", "i_p99", "i_max")]
            self.assertEqual(times, sorted(times))
            self.assertEqual(len(line.split()), len(titles))

    def test_rows_without_them_have_none(self):
        for row in self.right("all_reduce", "--ranks", "2", "-b", "8", "-e", "8"):
            self.assertNotIn("out_of_place_per_iter", row)
            self.assertIsNone(row["clock_read_ns"])

    def test_what_is_refused(self):
        for words, said in ((["-I", "2"], "-I is 2"), (["-I", "1", "-K", "20"], "at most 19"),
                            (["-K", "1"], "give that too"), (["-I", "x"], "x"), (["-I", "1", "-G", "2"], "-G"),
                            (["-I", "1", "--queue"], "give -z 2")):
            result = self.ended("all_reduce", "--ranks", "2", *words, code=2)
            self.assertEqual(result.stdout, "")
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
