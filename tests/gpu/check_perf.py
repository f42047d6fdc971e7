#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-perf on GPU memory, as a user runs it: ranks that share a GPU and ranks that do not, every kind of memory,
graphs, limits, and its output when results are wrong. Runs on a GPU, or against the stand-in for CUDA's driver.

Usage: check_perf.py RONDO_PERF RONDO_RUN BROKEN_LIBRARY [CLASS...]
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

BROKEN_LIBRARY = sys.argv.pop(3)
RUN = sys.argv.pop(2)
PERF = sys.argv.pop(1)
QUICK = ["-n", "2", "-w", "1"]
MIXED = ["-b", "0", "-e", "40000", "-f", "9"]
ONE_GPU = ["--devices", "0"]


def run(*command, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    # The address sanitizer wants to be loaded first; it also works behind the broken library.
    environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
    environment["RONDO_TIMEOUT"] = "100"  # says who waits for what before this test gives up
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env={**environment, **variables},
                          stdin=subprocess.DEVNULL)


def gpus():
    """Number of GPUs, found by asking rondo-perf for one more until it refuses."""
    if run(PERF, "all_reduce", "-t", "2", "-b", "8", "-e", "8", "--memory", "cuda").returncode == 77:
        return 0
    count = 1
    while run(PERF, "all_reduce", "-t", "2", "-b", "8", "-e", "8", "--devices", str(count)).returncode == 0:
        count += 1
    return count


GPUS = gpus()
COLLECTIVES = set(re.search("say which collective to run: (.*), or all", run(PERF).stderr)[1].split(", "))
COLLECTIVES -= {"hypercube"}  # which "all" leaves out


@unittest.skipIf(GPUS == 0, "there is neither a GPU nor a stand-in for one")
class OnGpus(unittest.TestCase):
    def rows(self, *arguments, code=0, command=(PERF,)):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows.json")
            result = run(*command, *arguments, *QUICK, "--json", path)
            self.assertEqual(result.returncode, code, result.stdout + result.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)["results"]

    def right(self, *arguments, **more):
        rows = self.rows(*arguments, **more)
        self.assertTrue(rows)
        for row in rows:
            self.assertEqual(row["wrong"], 0, row)
            self.assertIsNotNone(row["gpu"])
        return rows


class Ranks(OnGpus):
    def test_a_gpu_is_the_default(self):
        row = self.right("all_reduce", "-t", "2", "-b", "1K", "-e", "1K")[0]
        self.assertEqual((row["memory"], row["calls"], row["clock"]), ("cuda", "stream", "events"))
        row = self.rows("all_reduce", "-t", "2", "-b", "1K", "-e", "1K", "--memory", "host")[0]
        self.assertEqual((row["memory"], row["calls"], row["clock"], row["gpu"]), ("host", "calls", "host", None))

    def test_every_collective_of_threads_that_share_a_gpu(self):
        for memory in ("cuda", "managed", "pinned"):
            rows = self.right("all", "-t", "3", *ONE_GPU, "--memory", memory, *MIXED)
            self.assertEqual({(row["ranks"], row["memory"]) for row in rows}, {(3, memory)})
            self.assertEqual({row["collective"] for row in rows}, COLLECTIVES)

    def test_every_collective_of_one_thread(self):
        self.assertEqual({row["ranks"] for row in self.right("all", "-g", "3", *MIXED)}, {3})

    def test_threads_of_several_ranks_each(self):
        rows = self.right("all_reduce,all_to_all,reduce", "-t", "2", "-g", "2", "-r", "all", *MIXED)
        self.assertEqual({row["ranks"] for row in rows}, {4})
        self.assertEqual({row["root"] for row in rows if row["collective"] == "reduce"}, {0, 1, 2, 3})

    def test_lengths_that_vary(self):
        self.right("all", "--varying", "-t", "4", *ONE_GPU, *MIXED)

    def test_all_types_and_operations(self):
        self.right("all_reduce,all_gather", "-t", "3", "-d", "all", "-o", "all", "-b", "5000", "-e", "5000")

    @unittest.skipIf(GPUS < 2, "needs two GPUs")
    def test_ranks_take_the_gpus_in_turn(self):
        result = run(PERF, "all_reduce", "-t", "3", "-b", "8", "-e", "8")
        self.assertEqual(result.returncode, 0, result.stderr)
        devices = [line.split("device")[1].split()[0] for line in result.stdout.splitlines() if "#  Rank" in line]
        self.assertEqual(devices, [str(rank % GPUS) for rank in range(3)])

    def test_a_process_of_a_launcher(self):
        rows = self.right("all_reduce", "-t", "2", *ONE_GPU, "-b", "8", "-e", "8", command=(RUN, "-n", "1", PERF))
        self.assertEqual({row["ranks"] for row in rows}, {2})


    def test_buffers_that_processes_read_in_place(self):
        self.right("all", "--ranks", "3", *ONE_GPU, *MIXED, "-R", "1")
        many = ["all_gather", "--ranks", "3", *ONE_GPU, "-b", "8", "-e", "128K", "-f", "2"]
        # Peers open the buffers in the background, but long before the last row.
        self.assertEqual(self.right(*many, "-R", "1")[-1]["algorithm"], "gpu_windows")
        self.assertEqual({row["algorithm"] for row in self.right(*many)}, {"gpu_staged"})


class Ways(OnGpus):
    def test_ways_of_calling(self):
        for way in (["--queue"], ["-m", "3"], ["--queue", "-m", "2"], ["-z", "1"], ["-z", "2"], ["-z", "3"],
                    ["-R", "1"], ["-u", "3"], ["-a", "0"], ["-p", "1"], ["-T", "100"], ["-N", "2"]):
            self.right("all_reduce,all_to_all", "-t", "2", "-b", "10000", "-e", "10000", *way)
            self.right("all_reduce,all_to_all", "-g", "2", "-b", "10000", "-e", "10000", *way)

    def test_hypercube(self):
        for how in (["-t", "4"], ["--ranks", "2"], ["--ranks", "2", "--queue"]):
            self.right("hypercube", *how, *ONE_GPU, *MIXED)

    def test_clocks(self):
        for option, clock in ((["--host_time"], "host"), (["-C", "1"], "cpu"), (["-z", "1"], "host"), ([], "events")):
            for graph in ([], ["-G", "2"]):
                if graph and "-z" in option:
                    continue
                rows = self.right("all_reduce", "-t", "2", "-b", "10000", "-e", "10000", *option, *graph)
                self.assertEqual({row["clock"] for row in rows}, {clock})

    def test_iterations(self):
        for how in (["-t", "2"], ["-t", "2", "-z", "2"], ["-t", "2", "--host_time", "--fresh"], ["-g", "2"]):
            for row in self.right("all_reduce", *how, *ONE_GPU, "-b", "4K", "-e", "4K", "-I", "1"):
                self.assertEqual(row["clock_read_ns"] is None, row["clock"] == "events", row)
                found = row["out_of_place_per_iter"]
                self.assertEqual(len(found["times_us"]), 2)
                self.assertTrue(0 <= found["min_us"] <= found["p50_us"] <= found["max_us"], row)

    def test_graphs(self):
        for how in (["-t", "3"], ["-g", "2"], ["-t", "2", "-g", "2"], ["-t", "2", *ONE_GPU, "-m", "2"]):
            rows = self.right("all", *how, "-G", "3", *MIXED)
            self.assertEqual({(row["calls"], row["graph_launches"]) for row in rows}, {("graph", 3)})
            left_out = {"send_recv"} if "-t" in how else set()
            self.assertEqual({row["collective"] for row in rows}, COLLECTIVES - left_out)

    def test_algorithms_get_communicators_of_their_own(self):
        for how in ("-t", "-g"):
            self.right("broadcast", how, "2", "--algorithm", "all", "-b", "64", "-e", "64")

    def test_limits(self):
        result = run(PERF, "all_reduce", "-t", "2", *ONE_GPU, "-b", "1M", "-e", "1M", "--limits", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"#wrong +limit +reached")
        row = self.right("all_reduce", "-t", "2", *ONE_GPU, "-b", "1M", "-e", "1M", "--limits")[0]
        self.assertAlmostEqual(row["out_of_place_limit_us"], 4 * 2**20 / row["copy_gbs"] / 1000, places=6)
        self.assertAlmostEqual(row["in_place_limit_us"], row["out_of_place_limit_us"], places=6)
        row = self.right("all_reduce", "-t", "2", "-b", "1M", "-e", "1M")[0]
        self.assertIsNone(row["out_of_place_limit_us"])


class WrongResults(OnGpus):
    def broken(self, how, *arguments):
        return run(PERF, "all_reduce", "-t", "3", "-b", "4K", "-e", "4K", *QUICK, *arguments,
                   LD_PRELOAD=BROKEN_LIBRARY, BROKEN=how)

    def test_without_a_fault_all_is_right(self):
        self.assertEqual(self.broken("").returncode, 0)

    def test_one_wrong_value_is_counted_and_fails(self):
        for memory in ("cuda", "managed"):
            result = self.broken("value", "--memory", memory)
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertIn("# Out of bounds values : 2 FAILED", result.stdout)

    def test_a_wrong_value_in_a_graph_is_counted(self):
        self.assertIn("# Out of bounds values : 2 FAILED", self.broken("value", "-G", "2").stdout)

    def test_a_result_that_never_came_is_wrong_everywhere(self):
        self.assertIn("# Out of bounds values : 2048 FAILED", self.broken("nothing").stdout)

    def test_writes_outside_of_the_buffers_are_noticed(self):
        for how, found in (("before", 2), ("after", 2), ("input", 1)):
            result = self.broken(how)
            self.assertEqual(result.returncode, 1, how)
            self.assertIn(f"# Out of bounds values : {found} FAILED", result.stdout)


class BadOptions(OnGpus):
    def test_what_does_not_go_together_is_refused(self):
        for arguments, said in ((["--devices", str(GPUS)], "--devices is"), (["-G", "1", "--queue"], "--queue out"),
                                (["-G", "1", "-z", "1"], "leave -z at 0"), (["-R", "2"], "rondo_mem_alloc"),
                                (["-G", "1", "-I", "1"], "leave -G or -I out"),
                                (["--host_time", "-I", "1"], "give -z 2"),
                                (["--memory", "host", "-g", "2"], "ranks are not GPUs here")):
            result = run(PERF, "all_reduce", "-t", "2", *arguments)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertIn(said, result.stderr)

    def test_messages_of_several_threads_are_left_out_of_graphs(self):
        result = run(PERF, "send_recv", "-t", "2", "-G", "1")
        self.assertEqual(result.returncode, 2)
        self.assertIn("# left out: one graph", result.stdout)

    @unittest.skipIf(GPUS < 2, "there is only one GPU")
    def test_a_graph_of_several_gpus_that_wait_for_one_another_is_refused(self):
        for ranks in (["-t", "2"], ["-g", "2"]):
            result = run(PERF, "all_reduce", *ranks, "-G", "1", "-b", "8", "-e", "8", RONDO_ALGORITHM="all_reduce=ring")
            self.assertEqual(result.returncode, 3, result.stderr)
            self.assertIn("those of one graph", result.stderr)


class WithoutGpus(unittest.TestCase):
    def test_asking_for_gpu_memory_ends_with_77_and_the_reason(self):
        for memory in ("cuda", "managed", "pinned"):
            # No visible GPU, or no driver.
            result = run(PERF, "all_reduce", "-t", "2", "--memory", memory, CUDA_VISIBLE_DEVICES="")
            self.assertEqual(result.returncode, 77, result.stderr)
            self.assertRegex(result.stderr, f"rondo-perf: --memory {memory}: .*(driver|no GPU|CUDA)")

    def test_the_host_is_the_default_then(self):
        result = run(PERF, "all_reduce", "-t", "2", "-b", "8", "-e", "8", *QUICK, CUDA_VISIBLE_DEVICES="")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("device", result.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=1)
