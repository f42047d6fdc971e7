# SPDX-License-Identifier: Apache-2.0
"""The drivers with which bench/compare times calls on tensors: Gloo's, one of a stand-in, and those of the operators
that install_ops.py has installed."""
import os
import subprocess
import sys
import unittest
from types import SimpleNamespace

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/compare")
STAND_IN = """
import sys
import torch.distributed as dist
sys.path.insert(0, sys.argv[1])
import torch_timing
reducing = {"right": dist.all_reduce, "idle": lambda tensor: None}[sys.argv[2]]
sys.exit(torch_timing.run(sys.argv[3:], lambda rank, ranks: reducing))
"""
SIZES = [2, 4096, 1 << 20]


def drive(*command, fresh="0"):
    job = ["2", "none", "all_reduce", "bfloat16", "1", fresh, "0.5", *(f"{size}:5:1" for size in SIZES)]
    return subprocess.run([sys.executable, *command, *job], text=True, capture_output=True, timeout=100)


def with_stand_in(kind):
    return "-c", STAND_IN, FOLDER, kind


class Drivers(unittest.TestCase):
    def assert_times(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        times = [line.split() for line in result.stdout.splitlines()]
        self.assertEqual([int(size) for size, _ in times], SIZES)
        self.assertTrue(all(float(us) > 0 for _, us in times), times)

    def test_gloo(self):
        self.assert_times(drive(os.path.join(FOLDER, "gloo_driver.py")))

    def test_a_stand_in(self):
        self.assert_times(drive(*with_stand_in("right")))
        self.assert_times(drive(*with_stand_in("right"), fresh="1"))

    def test_a_stand_in_that_reduces_nothing_is_not_timed(self):
        result = drive(*with_stand_in("idle"))
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertIn("2 elements are wrong after all_reduce of 2 bytes", result.stderr)


class InstalledOperators(unittest.TestCase):
    def test_deepspeed(self):
        self.check("deepspeed")

    def test_vllm(self):
        self.check("vllm")

    def check(self, name):
        import install_ops
        import jobs
        import peers
        from contestant import Missing
        arguments = SimpleNamespace(ops_folder=install_ops.FOLDER, torch_python=sys.executable, timeout=60.0,
                                    type="bfloat16", in_place=True, fresh=False, bind="none")
        try:
            peer = peers.PEERS[name](SimpleNamespace(arguments=arguments))
        except Missing as reason:
            self.skipTest(str(reason))
        before = os.listdir("/dev/shm")
        for arguments.type in "float", "half", "bfloat16":
            turn = peer.run(jobs.job_of(jobs.Sweep("shm", "all_reduce", 3), [12, *SIZES[1:]], arguments, 60))
            self.assertEqual((turn.fault, list(turn.times_us)), (None, [12, *SIZES[1:]]))
        self.assertEqual([one for one in os.listdir("/dev/shm") if one not in before and is_of(one)], [])


def is_of(segment):
    return segment.startswith(("deepspeed_allreduce_buffer", "rondo-compare-"))


sys.path.insert(0, FOLDER)
if __name__ == "__main__":
    unittest.main(verbosity=2)
