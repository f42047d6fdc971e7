# SPDX-License-Identifier: Apache-2.0
"""A process of this host at one moment."""
import socket
import time

import proc
from strangers import printable

MAX_COMMAND = 100  # characters
NOTABLE_SHARE = 0.01  # of a CPU
STATES = {"gone": "has ended", "T": "is stopped", "t": "is stopped by a debugger", "Z": "has ended (a zombie)",
          "X": "has ended", "D": "waits for a device"}


def cpu_text(share):
    """Empty: too little, or unknown."""
    return f"{share:.0%} of a CPU" if (share or 0) >= NOTABLE_SHARE else ""


class Process:
    """What /proc says about it now."""

    def __init__(self, pid):
        self.pid = pid
        self.letter = proc.state_letter(pid)
        self.cpu_s = proc.cpu_seconds(pid)
        self.at_s = time.monotonic()
        self.command = printable(proc.command_of(pid))
        if len(self.command) > MAX_COMMAND:
            self.command = self.command[:MAX_COMMAND - 3] + "..."
        self.inner_pid = proc.inner_pid(pid)
        self.runs = proc.has_running_thread(pid)
        self.cpu = None  # a share of one CPU since an earlier look

    def compare(self, earlier):
        if earlier is not None and self.at_s > earlier.at_s:
            self.cpu = max(0, self.cpu_s - earlier.cpu_s) / (self.at_s - earlier.at_s)

    def state(self):
        if self.letter in STATES:
            return STATES[self.letter]
        share = cpu_text(self.cpu) and f" ({cpu_text(self.cpu)})"
        if self.runs:
            return "runs" + share
        where = printable(proc.wait_channel(self.pid))
        return "sleeps" + (f" in {where}" if where else "") + share

    def text(self):
        return f"process {self.pid}"

    def as_json(self, why):
        return {"pid": self.pid, "host": socket.gethostname(), "command": self.command, "state": self.state(),
                "cpu": self.cpu, "problem": why}
