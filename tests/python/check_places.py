# SPDX-License-Identifier: Apache-2.0
"""Ranks that wait say where the Python program of a late rank is; the late rank goes on as if it had not been asked."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from users import environment

RUN = os.environ.get("RONDO_TEST_RUN", "rondo-run")
SIZE = 3

PROGRAM = textwrap.dedent("""\
    import array, ctypes, re, sys, threading, time
    import rondo

    def spin():
        end = time.monotonic() + 3
        while time.monotonic() < end:
            pass
        return 0

    class Held:
        def __del__(self):
            print("freed", flush=True)

    def nap():
        held = Held()
        begin = time.monotonic()
        time.sleep(3)
        return time.monotonic() - begin >= 3

    def hold_lock():
        return ctypes.PyDLL(None).usleep(3_000_000)

    def backtrack():
        return re.match(r"(a+)+b", "a" * 26)

    def wait_for_lock():
        lock = threading.Lock()
        lock.acquire()
        return lock.acquire(timeout=3)

    def step(pastime):
        print("result", globals()[pastime](), flush=True)

    def main():
        comm = rondo.init()
        data = array.array("d", [1.0])
        comm.all_reduce(data)
        if comm.rank == 1:
            step(sys.argv[1])
        else:
            try:
                comm.all_reduce(data)
            except rondo.RondoError as error:
                print(error, flush=True)
        comm.leave()

    main()
    """)


def line_of(text):
    return 1 + PROGRAM[:PROGRAM.index(text)].count("\n")


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "train.py"
        self.program.write_text(PROGRAM)

    def run_job(self, pastime, **variables):
        """The lines of the late rank, and of the others."""
        done = subprocess.run([RUN, "-n", str(SIZE), sys.executable, self.program, pastime], timeout=100, text=True,
                              env=environment(RONDO_TIMEOUT="1", RONDO_DEVICE="host", **variables),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        lines = done.stdout.splitlines()
        errors = [line for line in lines if "did not complete within" in line]
        self.assertEqual(len(errors), SIZE - 1, done.stdout)
        return [line.removeprefix("[1] ") for line in lines if line.startswith("[1] ")], errors

    def check(self, pastime, function_line, *output):
        late, errors = self.run_job(pastime)
        step_line, main_line = line_of("print(\"result"), line_of("step(sys.argv")
        self.assertEqual(late, list(output))
        for error in errors:
            self.assertRegex(error, r"rank 1 \(process \d+ on host .*\) has not reached this call; .*; its program "
                                    rf"is in train\.py:{function_line} \({pastime}\), called from "
                                    rf"train\.py:{step_line} \(step\), train\.py:{main_line} \(main\) \[R0201\]$")

    def test_a_function_that_sleeps(self):
        self.check("nap", line_of("time.sleep(3)"), "freed", "result True")

    def test_a_function_that_waits_for_a_lock(self):
        self.check("wait_for_lock", line_of("return lock.acquire"), "result False")

    def test_a_function_in_a_loop(self):
        late, errors = self.run_job("spin")
        loop_line = line_of("while time")
        self.assertEqual(late, ["result 0"])
        for error in errors:
            self.assertRegex(error, rf"; its program is in train\.py:({loop_line}|{loop_line + 1}) \(spin\), ")

    def test_a_function_in_c_that_holds_the_interpreters_lock(self):
        late, errors = self.run_job("hold_lock")
        self.assertEqual(late, ["result 0"])  # usleep() was not interrupted
        for error in errors:
            self.assertRegex(error, r"; its program is in usleep\(\) of the C library, called from .*; its Python "
                                    r"frames are unknown, as the interpreter's lock was held for 200 ms \[R0201\]$")

    def test_a_function_in_c_that_computes(self):
        late, errors = self.run_job("backtrack")
        self.assertEqual(late, ["result None"])
        for error in errors:
            self.assertRegex(error, r"; its program is in .*; its Python frames are unknown, as the interpreter's ")

    def test_the_files_have_all_frames(self):
        self.run_job("nap", RONDO_FLIGHT_FILE=str(self.folder / "%r.json"))
        text = (self.folder / "1.json").read_text()
        frames = re.findall(r'"file":"([^"]*)","line":(\d+),"function":"([^"]*)"', text)
        self.assertEqual([(pathlib.Path(file).name, function) for file, _, function in frames][:4],
                         [("train.py", "nap"), ("train.py", "step"), ("train.py", "main"), ("train.py", "<module>")])
        waits_at = line_of("except rondo") - 1
        self.assertIn(f"is in train.py:{waits_at} (main)", (self.folder / "0.json").read_text())

    def test_nothing_is_said_with_rondo_stacks_0(self):
        _, errors = self.run_job("nap", RONDO_STACKS="0")
        for error in errors:
            self.assertNotIn("its program", error)


if __name__ == "__main__":
    unittest.main()
