# SPDX-License-Identifier: Apache-2.0
"""check_examples.py CLASS: runs the examples in examples/torch on the CPU and checks their output. Needs torch and
the backend named by RONDO_TORCH_BACKEND (rondo)."""
import os
import subprocess
import sys
import tempfile
import unittest

from example_cases import FOLDER, by_hand, command, fork_ranks, losses, run, torchrun
from ports import free_port


class Digits(unittest.TestCase):
    """The same batch on 1, 2 and 4 ranks: the same losses, except for the rounding of sums."""

    @classmethod
    def setUpClass(cls):
        cls.texts = {ranks: fork_ranks(ranks, "ddp_digits.py") for ranks in (1, 2, 4)}
        cls.losses = {ranks: losses(text) for ranks, text in cls.texts.items()}

    def test_losses_do_not_depend_on_the_number_of_ranks(self):
        self.assertEqual(len(self.losses[1]), 5)
        for ranks in (2, 4):
            for one, other in zip(self.losses[1], self.losses[ranks]):
                self.assertLess(abs(one - other) / one, 1e-4, f"{ranks} ranks: {self.losses}")

    def test_it_learns(self):
        for text in self.texts.values():
            self.assertRegex(text, r"ranks: (8[5-9]|9\d)\.\d % of the other digits are recognised")

    def test_two_runs_are_the_same_bit_for_bit(self):
        for ranks in (2, 4):
            self.assertEqual(losses(fork_ranks(ranks, "ddp_digits.py")), self.losses[ranks])


class Checkpoint(unittest.TestCase):
    """A run stopped after 2 epochs and resumed equals one run of 3 epochs."""

    def test_resume(self):
        with tempfile.TemporaryDirectory() as folder:
            whole, parts = (os.path.join(folder, name) for name in ("whole.pt", "parts.pt"))
            wanted = losses(fork_ranks(2, "ddp_digits.py", "--epochs", "3", "--checkpoint", whole))
            first = losses(fork_ranks(2, "ddp_digits.py", "--epochs", "2", "--checkpoint", parts))
            then = losses(fork_ranks(2, "ddp_digits.py", "--epochs", "3", "--checkpoint", parts))
        self.assertEqual(len(then), 1)
        self.assertEqual(first + then, wanted)

    def test_amp(self):
        exact, amp = (losses(fork_ranks(2, "ddp_digits.py", "--epochs", "2", *more)) for more in ((), ("--amp",)))
        self.assertNotEqual(exact, amp)
        self.assertLess(abs(exact[-1] - amp[-1]), 0.1 * exact[-1])


class Launchers(unittest.TestCase):
    """Every way to start ranks gives the same result."""

    def check(self, text):
        self.assertRegex(text, r"2 ranks, backend \w+: mean loss 0\.001074")

    def test_torchrun(self):
        self.check(run(torchrun(2, "launchers.py")))

    def test_launch(self):
        line = torchrun(2, "launchers.py")
        self.check(run([*line[:2], "torch.distributed.launch", *line[3:]]))

    def test_spawn(self):
        self.check(run(command("launchers.py", "--spawn", "2")))

    def test_tcp(self):
        self.check(by_hand("launchers.py", f"tcp://127.0.0.1:{free_port()}", 2))

    def test_file(self):
        with tempfile.TemporaryDirectory() as folder:
            self.check(by_hand("launchers.py", f"file://{folder}/meeting", 2))


class Small(unittest.TestCase):
    """Examples that check themselves."""

    def test_collectives(self):
        for ranks in (2, 3):
            self.assertIn("24 collectives, all as they must be", fork_ranks(ranks, "collectives.py"))

    def test_join_uneven(self):
        self.assertIn("[4, 6, 8] steps, and one model on all 3 ranks", fork_ranks(3, "join_uneven.py"))

    def test_parameter_server(self):
        text = fork_ranks(4, "parameter_server.py", "--steps", "30")
        for method in ("synchronous server", "asynchronous server", "ring by hand", "all_reduce"):
            self.assertIn(method, text)

    def test_data_parallel_says_what_it_needs(self):
        line = [sys.executable, os.path.join(FOLDER, "data_parallel_nccl.py")]
        ended = subprocess.run(line, text=True, capture_output=True, timeout=90)
        self.assertIn(ended.returncode, (0, 77), ended.stderr)
        self.assertIn("GPUs", ended.stdout)


class Parallel(unittest.TestCase):
    """Models split over the ranks, each compared with the whole model."""

    def test_tensor_parallel(self):
        self.assertIn("the cut model and the whole one agree", fork_ranks(4, "tensor_parallel.py"))

    def test_pipeline_parallel(self):
        for schedule in ("1f1b", "gpipe"):
            self.assertIn("as on one rank", fork_ranks(3, "pipeline_parallel.py", "--schedule", schedule))

    def test_model_parallel(self):
        self.assertIn("as in one piece", fork_ranks(3, "model_parallel.py"))

    def test_fsdp2(self):
        for more in ((), ("--bf16",)):
            self.assertIn("as on one rank", fork_ranks(2, "fsdp2.py", *more))


if __name__ == "__main__":
    unittest.main(verbosity=2)
