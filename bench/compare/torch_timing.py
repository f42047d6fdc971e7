# SPDX-License-Identifier: Apache-2.0
"""Times calls on tensors, the way rondo-perf times Rondo's: one call on known data, warm-up, a barrier, then the
calls back to back; the result is the mean time per call over the ranks.

The last arguments of a driver: RANKS BIND COLLECTIVE TYPE IN_PLACE FRESH MAX_SECONDS BYTES:ITERATIONS:WARMUP...

Prints 'BYTES MICROSECONDS' for each size. Runs fewer iterations if those of a size would take more than
MAX_SECONDS.
"""
import functools
import os
import sys
import time
from dataclasses import dataclass
from datetime import timedelta

os.environ["OMP_NUM_THREADS"] = "1"  # ranks share the cores
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # it would take rondo.py in this folder for the package

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import gloo_calls  # noqa: E402
import ranks as ranks_of_host  # noqa: E402

TYPES = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
MIN_ITERATIONS = 5
TIMEOUT = timedelta(seconds=600)  # longer than the caller's own


@dataclass(frozen=True)
class Job:
    ranks: int
    bind: str
    collective: str
    kind: torch.dtype
    in_place: bool
    fresh: bool
    max_seconds: float
    steps: tuple

    @classmethod
    def of(cls, words):
        ranks, bind, collective, kind, in_place, fresh, max_seconds, *steps = words
        return cls(int(ranks), bind, collective, TYPES[kind], in_place == "1", fresh == "1", float(max_seconds),
                   tuple(tuple(map(int, step.split(":"))) for step in steps))


def over_ranks(value, op):
    one = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(one, op=op)
    return one.item()


def time_calls(side, barrier, fresh, number):
    """Returns microseconds per call on this rank. Fresh: inputs are written anew before each call, untimed."""
    barrier()
    started, untimed = time.perf_counter(), 0.0
    for _ in range(number):
        if fresh:
            began = time.perf_counter()
            side.input.zero_()
            barrier()
            untimed += time.perf_counter() - began
        side.call()
    return (time.perf_counter() - started - untimed) * 1e6 / number


def measure(side, barrier, job, iterations, warmup):
    slowest_us = over_ranks(time_calls(side, barrier, job.fresh, warmup), dist.ReduceOp.MAX)
    affordable = max(MIN_ITERATIONS, int(job.max_seconds * 1e6 / slowest_us))
    us = time_calls(side, barrier, job.fresh, min(iterations, affordable))
    return over_ranks(us, dist.ReduceOp.SUM) / job.ranks


def run_rank(rank, job, connect):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    all_reduce = connect and connect(rank, job.ranks)
    # Gloo's barrier ends at another time on each rank, which is long in calls through shared memory.
    barrier = functools.partial(all_reduce, torch.zeros(1, dtype=job.kind)) if connect else dist.barrier
    most = max(size for size, _, _ in job.steps) // job.kind.itemsize
    send, recv = torch.zeros(most, dtype=job.kind), torch.zeros(most, dtype=job.kind)
    for size, iterations, warmup in job.steps:
        side = gloo_calls.Side(job.collective, rank, job.ranks, size // job.kind.itemsize, send, recv, job.in_place)
        if connect:
            side.call = functools.partial(all_reduce, side.output)
        wrong = over_ranks(side.count_wrong(), dist.ReduceOp.SUM)
        if wrong:
            raise ValueError(f"{wrong:.0f} elements are wrong after {job.collective} of {size} bytes")
        us = measure(side, barrier, job, iterations, warmup)
        if rank == 0:
            print(size, f"{us:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def run(words, connect=None):
    """Returns the exit code. Times torch.distributed over Gloo, or the all_reduce in place that connect(rank, ranks)
    returns on each rank, after which Gloo connects the ranks as well."""
    job = Job.of(words)
    return ranks_of_host.start(job.bind, job.ranks, lambda rank: run_rank(rank, job, connect))
