#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rondo-perf reports: tables, JSON, plots, comparisons, and output that cannot be written.

Usage: check_perf_reports.py RONDO_PERF
"""
import os
import re
import tempfile
import unittest
import xml.dom.minidom

from perf_command import PERF, QUICK, PerfCase, loaded, run

STATE = r"(\d+\.\d ns one way between CPUs \d+ and \d+|unknown, .*|nothing to probe, there is one CPU)"
NUMBER, TEXT = (int, float), str
# Of docs/benchmark.md: field by field, what nccl-tests writes and what Rondo adds.
DOCUMENT = {"version": int, "start_time": TEXT, "args": list, "env": list, "config": dict, "results": list,
            "out_of_bounds": dict, "average_bus_bandwidth": dict, "end_time": TEXT,
            "rondo_version": TEXT, "date": TEXT, "machine": dict}
MACHINE = {"processor": TEXT, "cpus": int, "kernel": TEXT, "host": TEXT, "governor": (str, type(None)), "load": NUMBER}
ROW = {"size": int, "count": int, "type": TEXT, "redop": TEXT, "root": int, "out_of_place": dict,
       "collective": TEXT, "algorithm": TEXT, "automatic": bool, "transport": TEXT, "ranks": int, "bytes": int,
       "op": TEXT, "out_of_place_us": NUMBER, "algbw": NUMBER, "busbw": NUMBER, "wrong": int, "memory": TEXT,
       "calls": TEXT, "clock": TEXT, "fresh": bool, "clock_read_ns": NUMBER}
FORM = {"time": NUMBER, "alg_bw": NUMBER, "bus_bw": NUMBER, "nwrong": int}
ITERATIONS = {"skipped_iterations": int, "times_us": list,
              **{name: NUMBER for name in ("min_us", "max_us", "avg_us", "p50_us", "p95_us", "p99_us", "stdev_us",
                                           "cv_pct")}}


class Tables(PerfCase):
    def test_the_table_is_that_of_nccl_tests(self):
        result = self.ended("all_reduce", "--ranks", "3", "-b", "8", "-e", "64", "-f", "2", *QUICK)
        rows = [line for line in result.stdout.splitlines() if line and not line.startswith("#")]
        self.assertEqual([line.split()[0] for line in rows], ["8", "16", "32", "64"])
        for line in rows:
            columns = line.split()
            self.assertEqual(len(columns), 13)
            self.assertEqual(columns[2:5], ["float", "sum", "-1"])
            self.assertEqual((columns[8], columns[12]), ("0", "0"))
        self.assertRegex(result.stdout, r"(?m)^# Out of bounds values : 0 OK$")
        self.assertRegex(result.stdout, r"(?m)^# Avg bus bandwidth    : [0-9.e-]+$")
        self.assertEqual(result.stdout.count("#  Rank "), 3)
        self.assertEqual(len(re.findall(f"(?m)^# cache line: {STATE}$", result.stdout)), 2)

    def test_the_state_of_the_machine_alone(self):
        result = self.ended("--probe")
        self.assertRegex(result.stdout, f"^{STATE}\n$")

    def test_one_table_for_each_number_of_ranks(self):
        rows = self.right("all_reduce", "--ranks", "1,2,4", "-b", "1K", "-e", "1K")
        self.assertEqual([row["ranks"] for row in rows], [1, 2, 4])

    def test_cycles_run_everything_again(self):
        self.assertEqual(len(self.right("all_reduce", "--ranks", "2", "-b", "64", "-e", "64", "-N", "3")), 3)

    def test_other_reports(self):
        result = self.ended("all_reduce", "--ranks", "2", "-b", "64", "-e", "64", "-S", "1", "-C", "1", "-M", "1",
                            "-c", "0", *QUICK)
        self.assertRegex(result.stdout, r"cputime")
        self.assertRegex(result.stdout, r"N/A .* N/A +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n")
        self.assertRegex(result.stdout, r"# Memory per rank +: peak resident \d")

    def test_startup(self):
        result = self.ended("--startup", "--ranks", "4,130")
        for ranks in (4, 130):
            self.assertRegex(result.stdout, rf"# Start to first barrier: \d+\.\d+ s with {ranks} ranks")
        self.assertEqual(len(re.findall(r"in excess of an idle process", result.stdout)), 2)

    def test_a_start_without_descriptors_says_so(self):
        command = 'ulimit -n 40 && exec "$0" --ranks 64 --startup'
        result = run("sh", "-c", command, PERF, env={"RONDO_INIT_TIMEOUT": "2"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Too many open files", result.stderr)


class Files(PerfCase):
    def test_json_has_a_row_for_each_line(self):
        row = self.right("reduce", "--ranks", "2", "-b", "4K", "-e", "4K", "-r", "1", "-d", "half", "-o", "max")[0]
        expected = {"collective": "reduce", "ranks": 2, "bytes": 4096, "count": 2048, "type": "half", "op": "max",
                    "root": 1, "wrong": 0}
        self.assertEqual({key: row[key] for key in expected}, expected)
        self.assertGreater(row["out_of_place_us"], 0)
        self.assertGreater(row["in_place_us"], 0)
        self.assertAlmostEqual(row["algbw"], 4096 / row["out_of_place_us"] / 1000, places=6)
        self.assertIn(row["algorithm"], ("binomial", "knomial4", "halving_gather", "chain", "flat"))
        self.assertTrue(row["automatic"])
        self.assertTrue(row["handoff_ns"] is None or row["handoff_ns"] > 1, row)
        self.assertEqual(row["transport"], "shm")

    def test_json_has_what_scripts_for_nccl_tests_read(self):
        document = self.document("reduce,send_recv", "--ranks", "2", "-b", "64", "-e", "4K", "-f", "8", "-I", "1",
                                 env={"RONDO_PIN": "0", "RONDO_SECRET": "x" * 40})
        self.check_schema(DOCUMENT, document)
        self.assertEqual(document["args"][1:3], ["reduce,send_recv", "--ranks"])
        self.assertIn("RONDO_PIN=0", document["env"])
        self.assertNotIn("x" * 40, str(document))
        self.assertLessEqual(document["start_time"], document["end_time"])
        self.check_schema(MACHINE, document["machine"])
        for row in document["results"]:
            self.check_schema(ROW, row)
            forms = ["out_of_place"] + ["in_place"] * (row["collective"] == "reduce")
            for form in forms:
                self.check_schema(FORM, row[form])
                self.check_schema(ITERATIONS, row[form + "_per_iter"])
                self.assertEqual(row[form]["time"], row[form + "_us"])
            self.assertEqual([key for key in row if key.endswith("_per_iter")], [form + "_per_iter" for form in forms])
            probed = None not in (row["handoff_ns"], row["handoff_after_ns"])
            self.assertIn(row["state"], ("near", "far", "changed") if probed else (None,))

    def check_schema(self, schema, found):
        for key, types in schema.items():
            self.assertIsInstance(found[key], types, key)

    def test_the_plot_is_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plot.svg")
            result = self.ended("all_reduce", "--ranks", "2,3", "-b", "8", "-e", "4K", "-f", "2", "--plot", path,
                                "--ascii", *QUICK)
            picture = xml.dom.minidom.parse(path)
        self.assertEqual(len(picture.getElementsByTagName("polyline")), 4)
        texts = {node.firstChild.data for node in picture.getElementsByTagName("text")}
        self.assertTrue({"2 ranks", "3 ranks", "GB/s", "microseconds", "all_reduce, shm, float sum"} <= texts, texts)
        for ranks in (2, 3):
            self.assertRegex(result.stdout, rf"# Avg bus.*\n#\n# all_reduce, {ranks} ranks, shm, float sum\n# Bus")
        self.assertEqual(max(map(len, re.findall("^# .{8} [|+].*", result.stdout, re.M))), 80)

    def test_a_file_that_cannot_be_written_is_an_error_at_once(self):
        result = self.ended("all_reduce", "--ranks", "2", "--json", "/nowhere/x.json", code=2)
        self.assertIn("cannot write /nowhere/x.json: No such file or directory", result.stderr)
        self.assertNotIn("Rank", result.stdout)

    def test_a_table_that_cannot_be_written_is_an_error(self):
        for words in ("--help", "all_reduce -t 2 -b 8 -e 8 -n 1", "all_reduce --ranks 2 -b 8 -e 8 -n 1"):
            result = self.ended(f"'{PERF}' {words} > /dev/full", command=("bash", "-c"), code=3)
            self.assertIn("cannot write standard output: No space left on device", result.stderr)

    def test_a_socket_does_not_take_the_place_of_a_closed_output(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            for how in ("-t 2", "--ranks 2"):
                words = f"'{PERF}' all_reduce {how} -b 8 -e 8 -n 1 --json {path} >&-"
                self.ended(words, command=("bash", "-c"))
                self.assertEqual(len(loaded(path)["results"]), 1)

    def test_a_run_without_rows_leaves_no_earlier_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("rows.json", "plot.html")]
            for file in files:
                with open(file, "w", encoding="utf-8") as earlier:
                    earlier.write("earlier rows")
            self.ended("hypercube", "--ranks", "3", "--json", files[0], "--plot", files[1])
            self.assertEqual([os.path.getsize(file) for file in files], [0, 0])


class Comparison(PerfCase):
    def test_two_files_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("a.json", "b.json")]
            for file, last in zip(files, ("64", "8K")):
                self.ended("all_reduce,scan", "-t", "2", "-b", "8", "-e", last, "-f", "8", *QUICK, "--json", file)
            result = self.ended("compare", *files)
            self.assertEqual(len(re.findall(r"(?m)^(?:all_reduce|scan) ", result.stdout)), 4, result.stdout)
            self.assertIn("above 1: B is faster", result.stdout)
            self.assertTrue(self.ended("compare", "--help").stdout.startswith("usage: rondo-perf compare A"))
            for words, reason in ((files[:1], "usage: "), ([files[0], folder], "it is not a file"),
                                  ([files[0], "/proc/self/mem"], "cannot read /proc/self/mem: Input/output error"),
                                  ([files[0], "/nowhere.json"], "/nowhere.json: it is not a file"),
                                  ([files[0], __file__], "check_perf_reports.py: it is not a JSON document")):
                self.assertIn(reason, self.ended("compare", *words, code=2).stderr)


if __name__ == "__main__":
    unittest.main()
