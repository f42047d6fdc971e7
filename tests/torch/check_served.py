# SPDX-License-Identifier: Apache-2.0
"""RONDO_SERVE=gloo: programs that choose Gloo themselves run on Rondo, with the results of Gloo."""
import os
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "served_program.py")


def run(*command, **variables):
    return subprocess.run([sys.executable, *command], env=os.environ | variables, capture_output=True, text=True,
                          timeout=120, check=False)


def on_ranks(ranks, name, **variables):
    """The lines that the program prints."""
    ended = run("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", PROGRAM, name,
                **variables)
    if ended.returncode != 0:
        raise AssertionError(f"{name} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout.splitlines()


def trained(name, served):
    """By what each of two ranks was served, and the losses."""
    lines = on_ranks(2, name, RONDO_SERVE=served)
    return ([line for line in lines if line.startswith("served by")],
            [float(line.split()[1]) for line in lines if line.startswith("loss ")])


class Served(unittest.TestCase):
    def test_accelerate_and_trainer(self):
        servers, by_rondo = trained("accelerate", "gloo")
        self.assertEqual(servers, ["served by rondo"] * 4)
        servers, by_gloo = trained("accelerate", "")
        self.assertEqual(servers, ["served by gloo"] * 4)
        self.assertEqual((len(by_gloo), len(by_rondo)), (12, 12))
        for one, other in zip(by_rondo, by_gloo):
            self.assertAlmostEqual(one, other, delta=1e-4 * abs(other))

    def test_lightning(self):
        servers, losses = trained("lightning", "gloo")
        self.assertEqual(servers, ["served by rondo"] * 2)
        self.assertEqual(len(losses), 6)
        self.assertLess(losses[-1], losses[0])

    def test_groups_and_flight_recorder(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = on_ranks(3, "groups", RONDO_SERVE="gloo", TORCH_FR_DUMP_TEMP_FILE=f"{folder}/rank_")
            self.assertEqual(lines.count("right"), 3)
            story = run("-m", "torch.distributed.flight_recorder.fr_trace", folder, "-p", "rank_", "-j")
        self.assertEqual(story.returncode, 0, story.stderr)
        for words in "all_reduce", "[[1000]]", "broadcast", "[[77]]":
            self.assertIn(words, story.stdout + story.stderr)

    def test_other_values(self):
        ended = run("-c", "import torch", RONDO_SERVE="nccl")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("RONDO_SERVE is 'nccl': it must be gloo, or not set", ended.stderr)


if __name__ == "__main__":
    unittest.main()
