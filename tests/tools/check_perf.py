#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-perf as a user runs it: tables, files, every collective, and its output when results are wrong.

Usage: check_perf.py RONDO_PERF RONDO_RUN BROKEN_LIBRARY
"""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

BROKEN_LIBRARY = sys.argv.pop(3)
RUN = sys.argv.pop(2)
PERF = sys.argv.pop(1)
QUICK = ["-n", "2", "-w", "1"]
VARYING = ["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]


def run(*command, env=None):
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    # The address sanitizer wants to be loaded first; it also works behind the broken library.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    environment.update(env or {})
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment,
                          stdin=subprocess.DEVNULL)


# An all_gather of two ranks, in MSCCL's XML.
SWAP = ('<algo name="swap" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0">{}'
        '</algo>')
SWAP_STEP = ('<step s="{s}" type="{kind}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{to}" cnt="1" depid="-1" deps="-1"'
             ' hasdep="0"/>')
SWAP_GPU = ('<gpu id="{own}" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="{other}" recv="{other}" chan="0">'
            + SWAP_STEP.format(s=0, kind="cpy", to="{own}") + SWAP_STEP.format(s=1, kind="s", to="{own}")
            + SWAP_STEP.format(s=2, kind="r", to="{other}") + "</tb></gpu>")

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


def perf(*arguments, env=None):
    return run(PERF, *arguments, env=env)


class Perf(unittest.TestCase):
    def document(self, *arguments, code=0, command=(PERF,), env=None, iterations=QUICK):
        """A run's JSON file."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            result = run(*command, *arguments, *iterations, "--json", path, env=env)
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)

    def rows(self, *arguments, **more):
        return self.document(*arguments, **more)["results"]

    def right(self, *arguments, **more):
        rows = self.rows(*arguments, **more)
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(row["wrong"], 0, row)
        return rows


class Tables(Perf):
    def test_the_table_is_that_of_nccl_tests(self):
        result = perf("all_reduce", "--ranks", "3", "-b", "8", "-e", "64", "-f", "2", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
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
        result = perf("--probe")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, f"^{STATE}\n$")

    def test_one_table_for_each_number_of_ranks(self):
        rows = self.right("all_reduce", "--ranks", "1,2,4", "-b", "1K", "-e", "1K")
        self.assertEqual([row["ranks"] for row in rows], [1, 2, 4])

    def test_cycles_run_everything_again(self):
        self.assertEqual(len(self.right("all_reduce", "--ranks", "2", "-b", "64", "-e", "64", "-N", "3")), 3)

    def test_other_reports(self):
        result = perf("all_reduce", "--ranks", "2", "-b", "64", "-e", "64", "-S", "1", "-C", "1", "-M", "1", "-c", "0",
                      *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"cputime")
        self.assertRegex(result.stdout, r"N/A .* N/A +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n")
        self.assertRegex(result.stdout, r"# Memory per rank +: peak resident \d")

    def test_startup(self):
        result = perf("--startup", "--ranks", "4,130")
        self.assertEqual(result.returncode, 0, result.stderr)
        for ranks in (4, 130):
            self.assertRegex(result.stdout, rf"# Start to first barrier: \d+\.\d+ s with {ranks} ranks")
        self.assertEqual(len(re.findall(r"in excess of an idle process", result.stdout)), 2)

    def test_a_start_without_descriptors_says_so(self):
        command = 'ulimit -n 40 && exec "$0" --ranks 64 --startup'
        result = run("sh", "-c", command, PERF, env={"RONDO_INIT_TIMEOUT": "2"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("Too many open files", result.stderr)


class Files(Perf):
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
            result = perf("all_reduce", "--ranks", "2,3", "-b", "8", "-e", "4K", "-f", "2", "--plot", path, "--ascii",
                          *QUICK)
            self.assertEqual(result.returncode, 0, result.stderr)
            picture = xml.dom.minidom.parse(path)
        self.assertEqual(len(picture.getElementsByTagName("polyline")), 4)
        texts = {node.firstChild.data for node in picture.getElementsByTagName("text")}
        self.assertTrue({"2 ranks", "3 ranks", "GB/s", "microseconds", "all_reduce, shm, float sum"} <= texts, texts)
        for ranks in (2, 3):
            self.assertRegex(result.stdout, rf"# Avg bus.*\n#\n# all_reduce, {ranks} ranks, shm, float sum\n# Bus")
        self.assertEqual(max(map(len, re.findall("^# .{8} [|+].*", result.stdout, re.M))), 80)

    def test_a_file_that_cannot_be_written_is_an_error_at_once(self):
        result = perf("all_reduce", "--ranks", "2", "--json", "/nowhere/x.json")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cannot write /nowhere/x.json: No such file or directory", result.stderr)
        self.assertNotIn("Rank", result.stdout)

    def test_a_table_that_cannot_be_written_is_an_error(self):
        for words in ("--help", "all_reduce -t 2 -b 8 -e 8 -n 1", "all_reduce --ranks 2 -b 8 -e 8 -n 1"):
            result = run("bash", "-c", f"'{PERF}' {words} > /dev/full")
            self.assertEqual(result.returncode, 3, words)
            self.assertIn("cannot write standard output: No space left on device", result.stderr)

    def test_a_socket_does_not_take_the_place_of_a_closed_output(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            for how in ("-t 2", "--ranks 2"):
                words = f"'{PERF}' all_reduce {how} -b 8 -e 8 -n 1 --json {path} >&-"
                self.assertEqual(run("bash", "-c", words).returncode, 0, how)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(len(json.load(file)["results"]), 1)

    def test_a_run_without_rows_leaves_no_earlier_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("rows.json", "plot.html")]
            for file in files:
                with open(file, "w", encoding="utf-8") as earlier:
                    earlier.write("earlier rows")
            result = perf("hypercube", "--ranks", "3", "--json", files[0], "--plot", files[1])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual([os.path.getsize(file) for file in files], [0, 0])


class Iterations(Perf):
    """-I, on every way of calling that has ends of iterations."""

    def check(self, *arguments):
        rows = self.rows(*arguments, "-I", "1", iterations=["-n", "9"])
        self.assertTrue(rows)
        for row in rows:
            for key, found in row.items():
                if key.endswith("_per_iter"):
                    self.check_statistics(row, key, found)
            self.assertEqual("out_of_place_per_iter" in row, True, row)
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
        result = perf("all_reduce", "--ranks", "2", "-b", "8", "-e", "64", "-f", "8", "-I", "1", "-K", "1", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
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
            result = perf("all_reduce", "--ranks", "2", *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(said, result.stderr)


class Collectives(Perf):
    sizes = ["-b", "0", "-e", "40000", "-f", "9"]

    def test_every_collective_between_processes(self):
        rows = self.right("all", "--ranks", "2,3", *self.sizes)
        names = re.search("say which collective to run: (.*), or all", perf().stderr)[1]
        self.assertEqual({row["collective"] for row in rows}, set(names.split(", ")) - {"hypercube"})
        for row in rows:
            in_place = row["collective"] not in ("all_to_all", "barrier", "send_recv")
            self.assertEqual(row["in_place_us"] is not None, in_place, row)

    def test_every_collective_between_threads(self):
        for how in ("0", "1"):
            rows = self.right("all", "-t", "3", "-p", how, *self.sizes)
            self.assertEqual({row["ranks"] for row in rows}, {3})

    def test_processes_of_threads(self):
        self.assertEqual({row["ranks"] for row in self.right("all", "--ranks", "2", "-t", "2", *self.sizes)}, {4})

    def test_every_root(self):
        rows = self.right("broadcast,reduce,gather,scatter", "--ranks", "3", "-r", "all", "-b", "999", "-e", "999")
        self.assertEqual([row["root"] for row in rows], [0, 1, 2] * 4)

    def test_lengths_that_vary(self):
        rows = self.right("all", "--varying", "--ranks", "2,4", *self.sizes)
        self.assertEqual(sorted({row["collective"] for row in rows}), sorted(name + "_v" for name in VARYING))

    def test_one_message_at_a_time(self):
        self.right("send_recv", "--ping_pong", "--ranks", "2,3", "-t", "1", *self.sizes)
        self.right("send_recv", "--ping_pong", "-t", "3", *self.sizes)
        refused = perf("send_recv", "--ping_pong", "-t", "2", "-m", "2", *QUICK)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("leave -m and -g out", refused.stderr)
        both = perf("send_recv", "--ping_pong", "--one_way", *QUICK)
        self.assertEqual((both.returncode, "exclude each other" in both.stderr), (2, True))

    def test_messages_one_way(self):
        self.right("send_recv", "--one_way", "--ranks", "2,3", "-t", "1", *self.sizes)
        self.right("send_recv", "--one_way", "-t", "4", "-m", "5", *self.sizes)

    def test_hypercube_takes_powers_of_two(self):
        for how in (["--ranks", "1,2,3,4"], ["-t", "8"], ["--ranks", "2", "--queue"], ["-t", "4", "-R", "2"]):
            rows = self.right("hypercube", *how, "-d", "int8,double", *self.sizes)
            self.assertEqual({row["ranks"] for row in rows}, {int(n) for n in how[1].split(",")} - {3})
            for row in rows:
                self.assertEqual((row["algbw"], row["in_place_us"] is None, row["algorithm"]),
                                 (row["busbw"], False, "none"))
                counted = row["bytes"] * (row["ranks"] - 1) / row["ranks"]
                self.assertAlmostEqual(row["algbw"] * row["out_of_place_us"], counted * 1e-3, places=6)
        left_out = perf("hypercube", "--ranks", "3")
        self.assertEqual((left_out.returncode, "nRanks 3 is not a power of 2, skipping" in left_out.stdout), (0, True))
        refused = perf("hypercube", "-t", "2", "-m", "2")
        self.assertEqual((refused.returncode, "leave -m and -g out" in refused.stderr), (2, True))

    def test_all_types_and_operations(self):
        rows = self.right("all_reduce,reduce_scatter,scan,all_gather", "-t", "3", "-d", "all", "-o", "all",
                          "-b", "5000", "-e", "5000")
        pairs = {(row["type"], row["op"]) for row in rows if row["collective"] == "all_reduce"}
        # 17 types with sum and prod; min and max (not complex); avg and mulsum (not bool); six on integers and bool
        self.assertEqual(len(pairs), 2 * 17 + 2 * 15 + 2 * 16 + 6 * 9)
        self.assertNotIn("avg", {row["op"] for row in rows if row["collective"] == "scan"})

    def test_ways_of_calling(self):
        for way in (["--queue"], ["-m", "3"], ["--queue", "-m", "2"], ["-z", "1"], ["-z", "3"], ["-R", "1"],
                    ["-R", "2"], ["-u", "3"], ["-a", "0"], ["-a", "3"], ["--seed", "99"], ["-T", "100"]):
            self.right("all_reduce,all_to_all,send_recv", "--ranks", "2", "-b", "10000", "-e", "10000", *way)

    def test_transports(self):
        for transport in ("shm", "tcp"):
            rows = self.right("all_reduce", "--ranks", "2", "--transport", transport, "-b", "8", "-e", "100K",
                              "-f", "10")
            self.assertEqual({row["transport"] for row in rows}, {transport})

    def test_algorithms(self):
        listed = perf("all_reduce", "--algorithm", "list").stdout
        names = listed.partition(":")[2].split()
        self.assertIn("ring", names)
        rows = self.right("all_reduce", "--ranks", "3", "--algorithm", "all", "-b", "5000", "-e", "5000")
        ran = [row["algorithm"] for row in rows]
        self.assertEqual(ran, [name for name in names if name in ran])
        self.assertIn("ring", {row["algorithm"] for row in rows})
        rows = self.right("all_reduce,broadcast", "--ranks", "2", "--algorithm", "all_reduce=ring", "-b", "64",
                          "-e", "64")
        self.assertEqual([row["algorithm"] for row in rows if not row["automatic"]], ["ring"])
        self.assertEqual([row["automatic"] for row in rows], [False, True])
        self.assertEqual(perf("all_reduce", "--ranks", "2", "--algorithm", "nonsense").returncode, 2)
        refused = perf("all_gather", "--varying", "-t", "2", env={"RONDO_ALGORITHM": "all_gather=@shm_pull"})
        self.assertEqual(refused.returncode, 3)
        self.assertIn("all_gather by @shm_pull was requested, but it cannot do this call: it takes no _v form",
                      refused.stderr)


class Explanations(unittest.TestCase):
    def explain(self, *arguments, env=None, code=0):
        result = perf(*arguments, "--explain", env=env)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def test_the_choice_and_what_speaks_against_the_others(self):
        text = self.explain("all_reduce", "--ranks", "4", "-b", "4M", "-e", "4M")
        self.assertIn("all_reduce(count=1048576, float32, sum) of 4 ranks, 4194304 bytes", text)
        uses = r"(?m)^uses (\w+)@connections, with the lowest predicted time, in chunks of up to \d+ bytes$"
        chosen = re.search(uses, text)[1]
        times = {name: float(time) for name, time in re.findall(r"(?m)^  (\w+) +([\d.]+) us   ", text)}
        self.assertEqual(min(times, key=times.get), chosen)
        self.assertGreater(len(times), 4)
        reasons = set(re.findall(r"not chosen: (.*)", text))
        self.assertLessEqual(reasons, {"its ranks are not in equal groups (hosts, memory nodes, caches)"})

    def test_groups_of_near_ranks(self):
        sizes = ["-b", "1M", "-e", "1M"]
        text = self.explain("all_reduce", "-t", "4", *sizes, "--algorithm", "leaders", env={"RONDO_GROUP": "2"})
        self.assertRegex(text, r"predicted over connections \(.*; within groups of 2 ranks [\d.e-]+ and [\d.e-]+;")
        self.assertRegex(text, r"hierarchical +[\d.]+ us   own order; not chosen: another was requested\n")
        self.assertIn("  everywhere: (x0 + x1) + (x2 + x3)\n", text)
        by_ring = ["--algorithm", "hierarchical_ring"]
        text = self.explain("all_reduce", "-t", "8", *sizes, *by_ring, env={"RONDO_GROUP": "2,4"})
        self.assertRegex(text, r"; within groups of 4 ranks \S+ and \S+; within groups of 2 ranks \S+ and \S+;")
        for levels in "x", "2,3", "4,2", "2,", "0", "2,4,8,16,32":
            text = self.explain("all_reduce", "-t", "4", *sizes, env={"RONDO_GROUP": levels}, code=2)
            self.assertIn(f"RONDO_GROUP is '{levels}': it must be a whole number, or up to 4 of them", text)

    def test_a_short_call_is_exchanged(self):
        text = self.explain("all_reduce", "--ranks", "3", "-b", "64", "-e", "64")
        self.assertIn("uses one_shot@shm_pull, with the lowest predicted time\n", text)
        text = self.explain("all_reduce", "--ranks", "3", "-b", "64", "-e", "64", env={"RONDO_EXCHANGE_BYTES": "0"})
        self.assertIn("with the lowest predicted time", text)

    def test_the_order_of_operands(self):
        sizes = ["-b", "1M", "-e", "1M"]
        text = self.explain("all_reduce", "-t", "4", *sizes)
        self.assertIn("  everywhere: ((x0 + x1) + x2) + x3\nroundings of an operand to float32: at most 3\n", text)
        text = self.explain("all_reduce", "-t", "3", *sizes, "-d", "bfloat16", "-o", "avg", "--algorithm", "ring")
        self.assertIn("uses ring@connections, which was requested", text)
        self.assertIn("  part 1 of 3: r((r(x1 + x2) + x0) / 3)\n", text)
        self.assertIn("r() rounds to bfloat16", text)
        self.assertIn("roundings of an operand to bfloat16: at most 2\n", text)
        text = self.explain("scan", "-t", "64", *sizes, "-d", "half", "--algorithm", "chain")
        self.assertIn("  rank 7: r(r(r(r(r(r(r(x0 + x1) + x2) + x3) + x4) + x5) + x6) + x7)\n", text)
        self.assertIn("  and so on, 56 more\n", text)
        text = self.explain("reduce", "-t", "64", *sizes, "-d", "half", "--algorithm", "flat")
        self.assertIn("  everywhere: r(((x0 + x1) + x2) + ... + x63)\n", text)

    def test_reproducible_mode(self):
        mode = {"RONDO_REPRODUCIBLE": "1"}
        text = self.explain("scan", "-t", "3", "-b", "1M", "-e", "1M", "-d", "half", env=mode)
        self.assertIn("RONDO_REPRODUCIBLE is 1", text)
        self.assertRegex(text, r"chain +[\d.]+ us   rank order; not chosen: not reproducible\n")
        text = self.explain("all_reduce", "-t", "3", "--algorithm", "ring", env=mode, code=2)
        self.assertRegex(text, r"left out: .*RONDO_REPRODUCIBLE is 1, and all_reduce by ring was requested")
        text = self.explain("all_reduce", "-t", "3", env=mode | {"RONDO_ALGORITHM": "all_reduce=ring"}, code=3)
        self.assertIn("RONDO_REPRODUCIBLE is 1, and all_reduce by ring was requested", text)

    def test_what_it_cannot_explain(self):
        self.assertIn("send_recv has no algorithms", self.explain("send_recv", "-t", "2", code=2))
        self.assertIn("leave --varying out", self.explain("all_gather", "-t", "2", "--varying", code=2))


class SavedRules(unittest.TestCase):
    sizes = ["--ranks", "3", "-b", "8", "-e", "4M", "-f", "8"]
    collectives = "all_reduce,all_gather,barrier,send_recv"

    def save(self, to, *arguments, env=None, code=0):
        result = perf(*(arguments or (self.collectives, *self.sizes)), "--rules", to, env=env)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout + result.stderr

    def rules(self, text):
        return [line for line in text.splitlines() if line and not line.startswith("#")]

    def test_what_is_saved_is_loaded_and_gives_the_same_choices(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("old")
            self.assertEqual(self.rules(self.save(path)), [])
            self.assertEqual(os.listdir(folder), ["rules.txt"])
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertRegex(text, r"^# Chosen by Rondo \d+\.\d+\.\d+ for 3 ranks \(shm\), \d{4}-\d\d-\d\d \d\d:")
            saved = self.rules(text)
            self.assertEqual([rule.partition("=")[0] for rule in saved], ["all_reduce", "all_gather", "barrier"])
            self.assertRegex(saved[0], r"^all_reduce=(\w+@(shm_pull|connections):\d+K?,)+\w+@connections:2M$")
            self.assertRegex(saved[2], r"^barrier=\w+@shm_pull$")
            loaded = {"RONDO_ALGORITHM": "@" + path}
            # Printed with all else that it prints, which is comments.
            printed = self.save("-", env=loaded)
            self.assertEqual(self.rules(printed), saved)
            with open(path, "w", encoding="utf-8") as file:
                file.write(printed)
            self.assertEqual(self.rules(self.save("-", env=loaded)), saved)

            explained = [perf("all_reduce,all_gather", *self.sizes, "--explain", env=env).stdout
                         for env in ({}, loaded)]
            chosen, requested = (re.findall(r"(?m)^uses (\S+), (.*?)(?:, in chunks.*)?$", text) for text in explained)
            self.assertEqual([choice for choice, _ in chosen], [choice for choice, _ in requested])
            self.assertEqual({why for _, why in requested}, {"which was requested"})

    def test_every_size_has_its_own_choice(self):
        rules = "all_reduce=one_shot@connections:64,auto:512,@shm_pull:8K,ring@connections"
        text = self.save("-", "all_reduce", "-t", "3", "-b", "8", "-e", "16K", "-f", "2",
                         env={"RONDO_ALGORITHM": rules})
        self.assertRegex(self.rules(text)[0],
                         r"^all_reduce=one_shot@connections:64,(\w+@shm_pull:\d+K?,)+ring@connections:16K$")

    def test_a_file_that_cannot_be_read_or_written(self):
        self.assertIn("cannot write /nowhere/x: No such file or directory", self.save("/nowhere/x", code=2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# rules\nall_reduce=two_shot:64K,rign\n")
            for name, said in ((path, f"{path}:2: all_reduce has no algorithm 'rign'; "),
                               ("x", "x: cannot be read: No such file or directory")):
                result = perf("all_reduce", "-t", "2", env={"RONDO_ALGORITHM": "@" + name})
                self.assertEqual(result.returncode, 2)
                self.assertIn(said, result.stderr)

    def test_what_it_does_not_save(self):
        for arguments in (["--explain"], ["--algorithm", "ring"]):
            self.assertIn("leave --explain and --algorithm out",
                          self.save("-", "all_reduce", "-t", "2", *arguments, code=2))
        for arguments in (["--ranks", "2,3"], ["-d", "int8,float"], ["-o", "sum,max"], ["-r", "all"]):
            self.assertIn("give one number of --ranks, -d, -o and -r", self.save("-", "all_reduce", *arguments, code=2))
        self.assertIn("leave --varying out", self.save("-", "all_gather", "-t", "2", "--varying", code=2))


class Spelling(Perf):
    def test_algorithms_by_other_spellings_of_collectives(self):
        rows = self.right("bcast,AllReduce", "-t", "2", "-b", "64K", "-e", "64K",
                          env={"RONDO_ALGORITHM": "allreduce=ring;Bcast=chain"})
        self.assertEqual([row["algorithm"] for row in rows], ["chain", "ring"])

    def test_a_slip_in_an_algorithm_finds_what_was_meant(self):
        for text, meant in (("all_reduce=rign", "ring"), ("al_reduce=ring", "all_reduce")):
            result = perf("all_reduce", "-t", "2", env={"RONDO_ALGORITHM": text})
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(f"did you mean {meant}?", result.stderr)
        result = perf("all_reduce", "-t", "2", "--algorithm", "rign")
        self.assertEqual(result.returncode, 2)
        self.assertIn("all_reduce has no algorithm 'rign'", result.stdout)
        self.assertIn("did you mean ring?", result.stdout)

    def test_an_algorithm_out_of_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(SWAP.format("".join(SWAP_GPU.format(own=own, other=1 - own) for own in (0, 1))))
            file.flush()
            for algorithm in ("file:" + file.name, "all_gather=file:" + file.name):
                rows = self.right("all_gather", "-t", "2", "-b", "8", "-e", "1K", "--algorithm", algorithm)
                self.assertEqual({row["algorithm"] for row in rows}, {"file:" + file.name})

    def test_the_command_that_quickstart_prints(self):
        rows = self.right("all", "-t", "2", "-e", "64")
        self.assertEqual([row["bytes"] for row in rows[:4]], [8, 16, 32, 64])


class Launchers(Perf):
    def test_the_ranks_of_rondo_run(self):
        rows = self.right("all_reduce", "-b", "8", "-e", "8K", "-f", "8", command=(RUN, "-n", "3", PERF))
        self.assertEqual({row["ranks"] for row in rows}, {3})

    def test_threads_in_the_processes_of_rondo_run(self):
        rows = self.right("all_reduce", "-t", "2", "-b", "8", "-e", "8", command=(RUN, "-n", "2", PERF))
        self.assertEqual({row["ranks"] for row in rows}, {4})

    def test_the_program_by_the_names_of_nccl_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            link = os.path.join(folder, "alltoall_perf")
            os.symlink(os.path.abspath(PERF), link)
            rows = self.right("--ranks", "2", "-b", "64", "-e", "64", command=(link,))
        self.assertEqual({row["collective"] for row in rows}, {"all_to_all"})


    def test_a_rank_that_does_not_start_is_not_said_to_be_rank_0(self):
        result = run(PERF, "all_reduce", env={"RANK": "1", "WORLD_SIZE": "2"})
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("rondo-perf: RONDO_INVALID_ARGUMENT: rondo_init: MASTER_PORT is not set", result.stderr)


class Comparison(Perf):
    def test_two_files_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [os.path.join(folder, name) for name in ("a.json", "b.json")]
            for file, last in zip(files, ("64", "8K")):
                result = perf("all_reduce,scan", "-t", "2", "-b", "8", "-e", last, "-f", "8", *QUICK, "--json", file)
                self.assertEqual(result.returncode, 0, result.stderr)
            result = perf("compare", *files)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(len(re.findall(r"(?m)^(?:all_reduce|scan) ", result.stdout)), 4, result.stdout)
            self.assertIn("above 1: B is faster", result.stdout)
            helped = perf("compare", "--help")
            self.assertEqual((helped.returncode, helped.stdout[:27]), (0, "usage: rondo-perf compare A"), helped.stderr)
            for words, reason in ((files[:1], "usage: "), ([files[0], folder], "it is not a file"),
                                  ([files[0], "/proc/self/mem"], "cannot read /proc/self/mem: Input/output error"),
                                  ([files[0], "/nowhere.json"], "/nowhere.json: it is not a file"),
                                  ([files[0], os.path.abspath(__file__)], "check_perf.py: it is not a JSON document")):
                result = perf("compare", *words)
                self.assertEqual(result.returncode, 2, words)
                self.assertIn(reason, result.stderr)


class WrongResults(Perf):
    def broken(self, how, *arguments):
        arguments = arguments or ("all_reduce",)
        return perf(*arguments, "--ranks", "3", "-b", "4K", "-e", "4K", *QUICK,
                    env={"LD_PRELOAD": BROKEN_LIBRARY, "BROKEN": how})

    def test_without_a_fault_all_is_right(self):
        self.assertEqual(self.broken("").returncode, 0)

    def test_one_wrong_value_is_counted_and_fails(self):
        result = self.broken("value")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertRegex(result.stdout, r" 1 +[\d.]+ +[\d.]+ +[\d.]+ +1\n")
        self.assertIn("# Out of bounds values : 2 FAILED", result.stdout)

    def test_a_result_that_never_came_is_wrong_everywhere(self):
        self.assertIn("# Out of bounds values : 2048 FAILED", self.broken("nothing").stdout)

    def test_writes_outside_of_the_buffers_are_noticed(self):
        for how in ("before", "after", "input"):
            result = self.broken(how)
            self.assertEqual(result.returncode, 1, how)
            self.assertRegex(result.stdout, r"# Out of bounds values : [12] FAILED")

    def test_a_result_where_none_belongs_is_noticed(self):
        result = self.broken("elsewhere", "reduce")
        self.assertEqual(result.returncode, 1)
        self.assertIn("# Out of bounds values : 2 FAILED", result.stdout)

    def test_a_rank_that_leaves_ends_the_run(self):
        start = time.monotonic()
        result = self.broken("exit")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rondo-perf: rank [02]: RONDO_REMOTE_ERROR: .*\b1\b")
        self.assertLess(time.monotonic() - start, 20)

    def test_rows_from_before_a_crash_of_rank_0_are_in_the_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            result = perf("all_reduce", "--ranks", "3", "-b", "2K", "-e", "8K", "-f", "2", *QUICK, "--json", path,
                          env={"LD_PRELOAD": BROKEN_LIBRARY, "BROKEN": "crash"})
            self.assertNotEqual(result.returncode, 0)
            with open(path, encoding="utf-8") as file:
                self.assertEqual([row["bytes"] for row in json.load(file)["results"]], [2048, 4096], result.stderr)

    def test_a_row_that_hangs_is_ended(self):
        start = time.monotonic()
        result = self.broken("hang", "all_reduce", "-T", "1")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertLess(time.monotonic() - start, 20)


def processes_with(mark):
    """Ids of the processes whose environment contains the mark."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if name.isdigit() and mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


class Ends(unittest.TestCase):
    def test_nothing_is_left_of_a_run_that_is_stopped(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            mark = f"rondo-perf-test-{os.getpid()}-{time.monotonic_ns()}"
            started = subprocess.Popen([PERF, "all_reduce", "--ranks", "3", "-b", "8", "-e", "8", "-N", "0"],
                                       stdout=subprocess.PIPE, env=dict(os.environ, RONDO_TEST_MARK=mark))
            while not started.stdout.readline().lstrip().startswith(b"8 "):
                self.assertIsNone(started.poll())
            self.assertEqual(len(processes_with(mark)), 4)
            started.send_signal(number)
            started.communicate(timeout=30)
            self.assertEqual(started.returncode, -number if number == signal.SIGKILL else 128 + number)
            end = time.monotonic() + 10
            while processes_with(mark) and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(processes_with(mark), [], number)


class BadOptions(unittest.TestCase):
    def test_bad_options_are_refused(self):
        cases = ((["nonsense"], "is not a collective"), ([], "say which collective"),
                 (["all_reduce", "-G", "1"], "CUDA graphs"), (["all_reduce", "-b", "8Q"], "-b is '8Q'"),
                 (["broadcast", "--ranks", "2", "-r", "2"], "-r is 2: with 2 ranks the last one is 1"),
                 (["all_reduce", "--ranks", "2", "--transport", "tpc"], "did you mean tcp?"),
                 (["all_reduce", "-t", "2", "--plot", "x.png"], "writ"))
        for arguments, said in cases:
            result = perf(*arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
