# SPDX-License-Identifier: Apache-2.0
"""check_places.py RONDO-FLIGHT RONDO-RUN LATE-JOB: what the ranks of a job say of one that is late in its own program,
what rondo-flight makes of it, and that the late rank's system calls go on."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHT, RUN, JOB = sys.argv[1:4]
SANITIZER = os.environ.get("RONDO_TEST_SANITIZED", "none")  # as Meson's b_sanitize
SIZE = 4


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_job(self, pastime, **variables):
        """The lines of the late rank, and of the others."""
        environment = {**os.environ, "RONDO_TIMEOUT": "1", "RONDO_DEVICE": "host",
                       "RONDO_FLIGHT_FILE": os.path.join(self.folder, "%r.json"), **variables}
        with subprocess.Popen([RUN, "-n", str(SIZE), JOB, pastime], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True) as job:
            lines = []
            errors = []
            late = None
            for line in job.stdout:
                lines.append(line.rstrip("\n"))
                if lines[-1].startswith("[1] process "):
                    late = int(lines[-1].split()[-1])
                if "did not complete within" in line:
                    errors.append(lines[-1])
                    if pastime == "stopped" and len(errors) == SIZE - 1:
                        os.kill(late, signal.SIGCONT)
            self.assertEqual(job.wait(timeout=60), 0, lines)
        self.assertEqual(len(errors), SIZE - 1, lines)
        return [line.removeprefix("[1] ") for line in lines if line.startswith("[1] ")], errors

    def story(self, *options):
        paths = [os.path.join(self.folder, f"{rank}.json") for rank in range(SIZE)]
        paths = [path for path in paths if os.path.exists(path)]
        return subprocess.run([sys.executable, FLIGHT, *options, *paths], capture_output=True, text=True, timeout=60,
                              check=True).stdout

    def check_waiting(self, pastime, call):
        begin = time.monotonic()
        late, errors = self.run_job(pastime)
        self.assertGreater(time.monotonic() - begin, 3)
        self.assertIn("result 0, errno 0", late)
        for error in errors:
            self.assertRegex(error, r"rank 1 \(process \d+ on host .*\) has not reached this call; .*; its program ")
            spend = rf"spend_{pastime}\(\) \(late_job\+0x[0-9a-f]+\)"
            if SANITIZER == "none":  # they put functions of their own before those of the C library
                self.assertRegex(error, rf"is in {call}\(\) of the C library, called from {spend}, step\(\) ")
            self.assertRegex(error, spend)

    def test_a_rank_in_a_loop(self):
        if SANITIZER == "thread":
            self.skipTest("a handler comes to such a loop only at its end under ThreadSanitizer")
        late, errors = self.run_job("loop")
        self.assertIn("result 0, errno 0", late)
        for error in errors:
            self.assertRegex(error, r"; its program is in spend_loop\(\) \(late_job\+0x[0-9a-f]+\), called from step")
        story = self.story()
        self.assertRegex(story, r"\n  the program of rank 1 is in spend_loop\(\) \(.*\), called from step\(\) ")
        self.assertRegex(story, r"\n  the program of ranks 0, 2, 3 is in rondo_all_reduce\(\) of Rondo, called from ")
        if shutil.which("addr2line") and "late_job.cc" in story:
            self.assertRegex(story, r"spend_loop\(\) \(late_job\.cc:\d+\), called from step\(\) \(late_job\.cc:\d+\)")
        stacks = self.story("--stacks")
        self.assertRegex(stacks, r"\n  rank 1, process \d+ on host .*:\n    thread \d+ \(late_job\), which runs\n"
                                 r"        .* \(spend_loop\)\n        .* \(step\)\n        .* \(main\)\n")
        self.assertIn('"program": "is in spend_loop()', self.story("--json"))

    def test_a_rank_that_sleeps(self):
        self.check_waiting("sleep", "sleep")

    def test_a_rank_in_poll(self):
        self.check_waiting("poll", "poll")

    def test_a_rank_in_epoll_wait(self):
        self.check_waiting("epoll", "epoll_wait")

    def test_a_rank_that_waits_for_a_lock(self):
        self.check_waiting("lock", "pthread_mutex_lock")

    def test_a_rank_that_is_stopped(self):
        late, errors = self.run_job("stopped")
        self.assertIn("result 0, errno 0", late)
        for error in errors:
            self.assertRegex(error, r"rank 1 \(process (\d+) on host .*\) did not answer: its process is stopped")

    def test_nothing_is_said_with_rondo_stacks_0(self):
        late, errors = self.run_job("sleep", RONDO_STACKS="0")
        self.assertIn("result 0, errno 0", late)
        for error in errors:
            self.assertRegex(error, r"rank 1 \(process \d+ on host .*\) has not reached this call; .*$")
            self.assertNotIn("its program", error)
        self.assertNotIn("the program of", self.story())

    def test_a_value_that_is_no_switch(self):
        result = subprocess.run([RUN, "-n", "1", JOB, "sleep"], env={**os.environ, "RONDO_STACKS": "2"},
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    outcome = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
