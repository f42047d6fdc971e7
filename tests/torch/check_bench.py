# SPDX-License-Identifier: Apache-2.0
"""bench/torch as a program, and its check of results. Needs torch and the backend RONDO_TORCH_BACKEND (rondo)."""
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stderr
from xml.dom import minidom

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/torch")
PROGRAM = os.path.join(FOLDER, "bench_torch.py")
BACKEND = os.environ.get("RONDO_TORCH_BACKEND", "rondo")
COLLECTIVES = ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"]
RANKS = "2"
sys.path.insert(0, FOLDER)


class Program(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            results, picture = (os.path.join(folder, name) for name in ("torch.json", "torch.svg"))
            run = subprocess.run([sys.executable, PROGRAM, "--backend", BACKEND, "--quick", "--ranks", RANKS,
                                  "--json", results, "--plot", picture], text=True, capture_output=True, timeout=200)
            if run.returncode != 0:
                raise AssertionError(run.stdout + run.stderr)
            cls.printed = run.stdout
            with open(results, encoding="utf-8") as file:
                cls.results = json.load(file)
            cls.picture = minidom.parse(picture)

    def test_a_row_for_every_case(self):
        cases = {(row["collective"], row["ranks"]) for row in self.results["rows"]}
        self.assertEqual(cases, {(name, int(RANKS)) for name in [*COLLECTIVES, "ddp_step"]})

    def test_both_backends_can_do_all_of_it(self):
        for row in self.results["rows"]:
            self.assertIsNone(row["backend_fault"], row)
            self.assertEqual(len(row["backend_rounds_us"]), 3)
            self.assertLessEqual(row["backend_least_us"], row["backend_us"])
            self.assertAlmostEqual(row["speed"], row["baseline_us"] / row["backend_us"])

    def test_the_table_ends_with_the_mean_and_the_least(self):
        last = self.printed.splitlines()[-1]
        self.assertRegex(last, r"^# all: geometric mean of the speed \d+\.\d\d, minimum \d+\.\d\d \(")

    def test_the_picture_has_a_curve_for_each_backend(self):
        self.assertEqual(len(self.picture.getElementsByTagName("polyline")), 2 * len(COLLECTIVES))


class Options(unittest.TestCase):
    def test_refused(self):
        import bench_torch
        for options, words in ((["--ranks", "1"], "numbers of ranks"), (["--collectives", "sum"], "there is no sum"),
                               (["--first", "2"], "at least 4")):
            with self.subTest(options=options):
                errors = io.StringIO()
                with self.assertRaises(SystemExit), redirect_stderr(errors):
                    sys.argv = [PROGRAM, *options]
                    bench_torch.parse_arguments()
                self.assertIn(words, errors.getvalue())


class Check(unittest.TestCase):
    """A collective that does nothing, or omits one element, is found wrong."""

    @classmethod
    def setUpClass(cls):
        import torch.distributed as dist
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)

    @classmethod
    def tearDownClass(cls):
        import torch.distributed as dist
        dist.destroy_process_group()

    def test_every_collective(self):
        import cases
        for name, kind in cases.COLLECTIVES.items():
            with self.subTest(name=name):
                for result_is_right in (True, False):
                    case = kind(cases.Buffers.make(256, "cpu"), 256, 2)
                    case.call = lambda group, case=case, right=result_is_right: pretend(case, right)
                    self.assertEqual(case.wrong(None), not result_is_right)


def pretend(case, right):
    case.output.copy_(case.wanted(0))
    if not right:
        case.output[-1] += 1


if __name__ == "__main__":
    unittest.main(verbosity=2)
