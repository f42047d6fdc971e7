# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmark of the device's kernels against the stand-in driver, with sizes so small that its figures mean
nothing. Checks what it measures, and that it gives the reason if it cannot. Argument: the program."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def bench(*arguments, **environment):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out.json")
        command = [PROGRAM, "--benchmark_min_time=0.0001", f"--benchmark_out={out}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=100)
        return done, json.loads(out.read_text(encoding="utf-8"))["benchmarks"] if out.exists() else []


class Bench(unittest.TestCase):
    def test_measures_every_type_operation_and_size(self):
        done, rows = bench("--most=65536")
        self.assertEqual(done.returncode, 0, done.stderr)
        names = {row["name"].removesuffix("/manual_time") for row in rows}
        for name in ("copy/1/4096", "copy/1/65536", "fold/uint8/sum/1/4096", "fold/float32/sum/8/65536",
                     "fold/bfloat16/sum/4/4096", "fold/complex128/prod/2/65536", "fold/bool/logical_xor/2/65536"):
            self.assertIn(name, names)
        for row in rows:
            self.assertFalse(row.get("error_occurred"), row)
            operands = 1 + int(row["name"].split("/")[-3])
            moved = operands * int(row["name"].split("/")[-2])
            self.assertAlmostEqual(row["bytes_per_second"] * row["real_time"] / 1e9 / moved, 1, places=1)
            self.assertGreater(row["of_copy"], 0, row)

    def test_takes_no_more_memory_than_there_is(self):
        done, rows = bench("--most=65536", "--benchmark_filter=copy/1/65536", RONDO_STANDIN_MEMORY="100000")
        self.assertIn("allocating 65536 bytes on GPU 0", rows[0]["error_message"], done.stdout)

    def test_says_where_there_is_no_gpu(self):
        done, rows = bench(CUDA_VISIBLE_DEVICES="")
        self.assertEqual((done.returncode, rows), (77, []))
        self.assertIn("nothing to measure: CUDA", done.stderr)

    def test_refuses_sizes_that_make_no_sense(self):
        for size in ("", "100", "many", "5000x"):
            done, _ = bench("--most=" + size)
            self.assertEqual(done.returncode, 1)
            self.assertIn("at least 4096", done.stderr)


unittest.main(verbosity=2)
