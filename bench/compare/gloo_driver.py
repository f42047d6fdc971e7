# SPDX-License-Identifier: Apache-2.0
"""Times a Gloo collective through torch.distributed, the way rondo-perf times Rondo's: one call on known data,
warm-up, a barrier, then the calls back to back; the result is the mean time per call over the ranks.

gloo_driver.py RANKS BIND COLLECTIVE TYPE IN_PLACE FRESH MAX_SECONDS BYTES:ITERATIONS:WARMUP...

Prints 'BYTES MICROSECONDS' for each size. Runs fewer iterations if those of a size would take more than
MAX_SECONDS.
"""
import os
import sys
import time
from datetime import timedelta

os.environ["OMP_NUM_THREADS"] = "1"  # ranks share the cores
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import gloo_calls  # noqa: E402
import ranks as ranks_of_host  # noqa: E402

TYPES = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}
MIN_ITERATIONS = 5
TIMEOUT = timedelta(seconds=600)  # longer than the caller's own


def over_ranks(value, op):
    one = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(one, op=op)
    return one.item()


def time_calls(side, fresh, number):
    """Returns microseconds per call on this rank. Fresh: inputs are written anew before each call, untimed."""
    dist.barrier()
    started, untimed = time.perf_counter(), 0.0
    for _ in range(number):
        if fresh:
            began = time.perf_counter()
            side.input.zero_()
            dist.barrier()
            untimed += time.perf_counter() - began
        side.call()
    return (time.perf_counter() - started - untimed) * 1e6 / number


def measure(side, fresh, iterations, warmup, max_seconds, ranks):
    slowest_us = over_ranks(time_calls(side, fresh, warmup), dist.ReduceOp.MAX)
    affordable = max(MIN_ITERATIONS, int(max_seconds * 1e6 / slowest_us))
    return over_ranks(time_calls(side, fresh, min(iterations, affordable)), dist.ReduceOp.SUM) / ranks


def run_rank(rank, ranks, collective, kind, in_place, fresh, max_seconds, steps):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    most = max(size for size, _, _ in steps) // kind.itemsize
    send, recv = torch.zeros(most, dtype=kind), torch.zeros(most, dtype=kind)
    for size, iterations, warmup in steps:
        side = gloo_calls.Side(collective, rank, ranks, size // kind.itemsize, send, recv, in_place)
        wrong = over_ranks(side.count_wrong(), dist.ReduceOp.SUM)
        if wrong:
            raise ValueError(f"{wrong:.0f} elements are wrong after {collective} of {size} bytes")
        us = measure(side, fresh, iterations, warmup, max_seconds, ranks)
        if rank == 0:
            print(size, f"{us:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ranks, binding, collective, kind, in_place, fresh, max_seconds, *steps = sys.argv[1:]
    steps = [tuple(map(int, step.split(":"))) for step in steps]
    sys.exit(ranks_of_host.start(binding, int(ranks), lambda rank: run_rank(
        rank, int(ranks), collective, TYPES[kind], in_place == "1", fresh == "1", float(max_seconds), steps)))


if __name__ == "__main__":
    main()
