#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which calls rondo-perf makes: every collective, type and operation, by processes and threads, and what it refuses.

Usage: check_perf_calls.py RONDO_PERF RONDO_RUN
"""
import os
import re
import sys
import tempfile
import unittest

from perf_command import PERF, QUICK, PerfCase

RUN = sys.argv.pop(1)
VARYING = ["all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"]


class Collectives(PerfCase):
    sizes = ["-b", "0", "-e", "40000", "-f", "9"]

    def test_every_collective_between_processes(self):
        rows = self.right("all", "--ranks", "2,3", *self.sizes)
        names = re.search("say which collective to run: (.*), or all", self.ended(code=2).stderr)[1]
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
        refused = self.ended("send_recv", "--ping_pong", "-t", "2", "-m", "2", *QUICK, code=2)
        self.assertIn("leave -m and -g out", refused.stderr)
        both = self.ended("send_recv", "--ping_pong", "--one_way", *QUICK, code=2)
        self.assertIn("exclude each other", both.stderr)

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
        self.assertIn("nRanks 3 is not a power of 2, skipping", self.ended("hypercube", "--ranks", "3").stdout)
        self.assertIn("leave -m and -g out", self.ended("hypercube", "-t", "2", "-m", "2", code=2).stderr)

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
        listed = self.ended("all_reduce", "--algorithm", "list").stdout
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
        self.ended("all_reduce", "--ranks", "2", "--algorithm", "nonsense", code=2)
        refused = self.ended("all_gather", "--varying", "-t", "2", env={"RONDO_ALGORITHM": "all_gather=@shm_pull"},
                             code=3)
        self.assertIn("all_gather by @shm_pull was requested, but it cannot do this call: it takes no _v form",
                      refused.stderr)


class Launchers(PerfCase):
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
        result = self.ended("all_reduce", env={"RANK": "1", "WORLD_SIZE": "2"}, code=2)
        self.assertIn("rondo-perf: RONDO_INVALID_ARGUMENT: rondo_init: MASTER_PORT is not set", result.stderr)


class BadOptions(PerfCase):
    def test_bad_options_are_refused(self):
        cases = ((["nonsense"], "is not a collective"), ([], "say which collective"),
                 (["all_reduce", "-G", "1"], "CUDA graphs"), (["all_reduce", "-b", "8Q"], "-b is '8Q'"),
                 (["broadcast", "--ranks", "2", "-r", "2"], "-r is 2: with 2 ranks the last one is 1"),
                 (["all_reduce", "--ranks", "2", "--transport", "tpc"], "did you mean tcp?"),
                 (["all_reduce", "-t", "2", "--plot", "x.png"], "writ"))
        for arguments, said in cases:
            result = self.ended(*arguments, code=2)
            self.assertIn(said, result.stderr)


if __name__ == "__main__":
    unittest.main()
