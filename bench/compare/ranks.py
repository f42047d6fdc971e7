# SPDX-License-Identifier: Apache-2.0
"""ranks.py BIND RANKS COMMAND...: starts the command as RANKS ranks, with the variables that torchrun sets.

BIND: cpu binds rank r to number r of the CPUs that it may use, modulo their count; none does not bind.
"""
import os
import signal
import socket
import sys
import traceback

from binding import bind, end_with_parent


def start(binding, ranks, body):
    """Forks ranks, each of which calls body(rank). The first failure ends the others; returns its exit code."""
    variables = {"WORLD_SIZE": ranks, "LOCAL_WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": free_port()}
    os.environ.update({name: str(value) for name, value in variables.items()})
    return await_ranks({start_rank(binding, rank, body) for rank in range(ranks)})


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_rank(binding, rank, body):
    pid = os.fork()
    if pid != 0:
        return pid
    code = 1
    try:
        end_with_parent()
        os.environ.update({"RANK": str(rank), "LOCAL_RANK": str(rank)})
        if binding == "cpu":
            bind(rank)
        body(rank)
        code = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def await_ranks(left):
    first_failure = 0
    while left:
        pid, status = os.wait()
        left.discard(pid)
        code = os.waitstatus_to_exitcode(status)
        if code != 0 and first_failure == 0:
            first_failure = code if code > 0 else 128 - code
            for other in left:
                os.kill(other, signal.SIGTERM)
    return first_failure


if __name__ == "__main__":
    sys.exit(start(sys.argv[1], int(sys.argv[2]), lambda rank: os.execvp(sys.argv[3], sys.argv[3:])))
