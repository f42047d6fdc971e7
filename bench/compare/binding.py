# SPDX-License-Identifier: Apache-2.0
"""binding.py VARIABLE COMMAND...: runs the command bound to one CPU, chosen by the rank that the variable holds."""
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def bind(rank):
    """Binds this process to CPU number `rank`, modulo their count, of those that it may use."""
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpus[rank % len(cpus)]})


def end_with_parent():
    """Makes sure that a killed launcher leaves no ranks behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    end_with_parent()
    bind(int(os.environ[sys.argv[1]]))
    os.execvp(sys.argv[2], sys.argv[2:])
