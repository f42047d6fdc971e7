# SPDX-License-Identifier: Apache-2.0
"""Runs tests in a separate host process, and continues in a new one if a host hangs or dies."""
import json
import os
import select
import signal
import tempfile
import time
from dataclasses import dataclass

import host
from outcome import FAILED, LEFT_OUT, SKIPPED, Outcome

START_S = 120  # for a host to import the suite
MARGIN_S = 15  # the host enforces a test's limit; past this margin the host itself is considered hung
LOG_LINES = 40


class Host:
    """One forked process, and the pipe on which it reports."""

    def __init__(self, load, select, done, limit_s):
        self.log = tempfile.TemporaryFile(mode="w+", errors="replace")
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(read)
            host.serve(load, select, done, limit_s, write, self.log.fileno())
        os.close(write)
        self.pipe = read
        self.rest = b""
        self.ended = False

    def next_line(self, wait_s):
        """Returns a report, or None when the host has ended; raises TimeoutError."""
        deadline = time.monotonic() + wait_s
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.pipe], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            piece = os.read(self.pipe, 1 << 16)
            if not piece:
                os.waitpid(self.pid, 0)  # after this, its log is complete
                self.ended = True
                return None
            self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def last_words(self):
        self.log.seek(0)
        return "".join(self.log.readlines()[-LOG_LINES:])

    def end(self):
        """Ends the process and its ranks."""
        for end in (os.killpg, os.kill) if not self.ended else (os.killpg,):  # it leads no group before its setsid()
            try:
                end(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if not self.ended:
            os.waitpid(self.pid, 0)
        os.close(self.pipe)
        self.log.close()


@dataclass
class Plan:
    """The tests that the suite has for this backend and number of ranks."""
    run: list
    skipped: list  # those that the suite itself skips by decorators


def run_tests(load, select, limit_s, on_outcome=lambda outcome: None):
    """Returns, in order, the outcomes of the tests of the class that `load` creates whose names `select` keeps."""
    outcomes = []
    plan = None
    while plan is None or len(outcomes) < len(plan.run):
        plan = run_in_one_host(load, select, limit_s, outcomes, on_outcome)
    return outcomes + [Outcome(name, SKIPPED, 0.0, LEFT_OUT) for name in plan.skipped]


def run_in_one_host(load, select, limit_s, outcomes, on_outcome):
    """Runs the remaining tests until the host dies; adds at least one outcome. Returns the plan."""
    process = Host(load, select, len(outcomes), limit_s)
    plan, current = None, None

    def note(outcome):
        outcomes.append(outcome)
        on_outcome(outcome)

    try:
        plan = process.next_line(START_S)
        if plan is None:
            raise RuntimeError("the suite cannot be loaded:\n" + process.last_words())
        plan = Plan(**plan)
        while len(outcomes) < len(plan.run):
            current = plan.run[len(outcomes)]
            report = process.next_line(limit_s + MARGIN_S)
            if report is None:
                note(Outcome(current, FAILED, 0.0, process.last_words() + "\nError: the host of the ranks has died"))
                break
            note(Outcome(**report))
    except TimeoutError:
        if plan is None:
            raise RuntimeError(f"the suite could not be loaded within {START_S} s") from None
        note(Outcome(current, FAILED, limit_s + MARGIN_S, process.last_words() + "\nTimeoutError: its host hung"))
    finally:
        process.end()
    return plan


def list_tests(load, select):
    """Returns the plan without running it."""
    process = Host(load, select, None, 0)
    try:
        plan = process.next_line(START_S)
        if plan is None:
            raise RuntimeError("the suite cannot be loaded:\n" + process.last_words())
        return Plan(**plan)
    finally:
        process.end()
