# SPDX-License-Identifier: Apache-2.0
"""Starts and ends the ranks of one test: they are forked from a process that has imported torch and the suite, which
takes milliseconds, while starting an interpreter and importing torch takes seconds."""
import multiprocessing
import os
import signal
import time
from multiprocessing.connection import wait

GRACE_S = 0.5  # after a failure, for the other ranks to report what they saw
MEETING_S = 30


class ForkedRanks:
    """A mixin that precedes the suite's own base class, torch.testing's MultiProcessTestCase."""

    limit_s = 60

    def setUp(self):
        super().setUp()
        self.before_forking()
        self._start_processes(multiprocessing.get_context("fork").Process)

    def before_forking(self):
        """A hook to set up what the ranks inherit."""

    def _join_processes(self, fn):
        started = time.monotonic()
        try:
            self._await_ranks(started + self.limit_s)
            hung = [rank for rank, process in enumerate(self.processes) if process.exitcode is None]
            failed = self._failed(self.processes)
            if hung and not failed:
                self._get_timedout_process_traceback()
            self._end_ranks()
            if hung and not failed:
                raise TimeoutError(f"{ranks_in_words(hung)} did not end within {self.limit_s} s")
            self._check_return_codes(fn, time.monotonic() - started)
            if fn not in self.skip_return_code_checks:
                self._check_all_ended_alike()
        finally:
            self._end_ranks()
            for pipe in self.pid_to_pipe.values():
                pipe.close()

    def _failed(self, processes):
        return [process for process in processes if process.exitcode == self.TEST_ERROR_EXIT_CODE]

    def _await_ranks(self, deadline):
        """Waits until all ranks have ended, until shortly after the first error, or until the deadline."""
        left = {process.sentinel: process for process in self.processes}
        while left and time.monotonic() < deadline:
            ended = [left.pop(sentinel) for sentinel in wait(list(left), max(0, deadline - time.monotonic()))]
            for process in ended:
                process.join()
            if self._failed(ended):
                deadline = min(deadline, time.monotonic() + GRACE_S)

    def _end_ranks(self):
        for process in self.processes:
            if process.exitcode is None:
                process.kill()
                process.join()

    def _check_all_ended_alike(self):
        """The suite checks only the first rank's exit code, and would miss the crash of another."""
        codes = [process.exitcode for process in self.processes]
        if any(code < 0 for code in codes):
            dead = [f"rank {rank} by {signal.Signals(-code).name}" for rank, code in enumerate(codes) if code < 0]
            raise RuntimeError("ended by a signal: " + ", ".join(dead))
        if len(set(codes)) > 1:
            raise RuntimeError(f"ranks ended with the exit codes {codes}")

    def _barrier(self, wait_for=None, timeout=MEETING_S):
        """The suite's barrier of processes without a backend, polling every 2 ms instead of every 100 ms."""
        import torch.distributed as dist

        wait_for = wait_for or dist.get_world_size()
        self.meetings = getattr(self, "meetings", 0) + 1
        folder = os.path.join(os.environ["TEMP_DIR"], "barrier")
        mine = os.path.join(folder, str(os.getpid()))
        with open(mine + ".new", "w", encoding="ascii") as file:
            file.write(str(self.meetings))
        os.replace(mine + ".new", mine)
        deadline = time.monotonic() + max(timeout, MEETING_S)
        while arrived(folder, self.meetings) < wait_for:
            if time.monotonic() > deadline:
                raise RuntimeError("barrier timeout")
            time.sleep(0.002)


def arrived(folder, meeting):
    """Returns how many processes have reached this meeting."""
    count = 0
    for name in os.listdir(folder):
        if name.isdigit():
            with open(os.path.join(folder, name), encoding="ascii") as file:
                count += int(file.read()) >= meeting
    return count


def ranks_in_words(ranks):
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))
