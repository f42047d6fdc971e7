# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks by forking this process, which has already imported torch, and collects the rows of rank 0."""
import json
import os
import signal
import sys
import tempfile
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist

from measure import Bench

TIMEOUT = timedelta(seconds=120)


def run(arguments, ranks):
    """Returns the rows for one number of ranks."""
    with tempfile.TemporaryDirectory() as folder:
        read, write = os.pipe()
        pids = [start(arguments, rank, ranks, folder, write) for rank in range(ranks)]
        os.close(write)
        with os.fdopen(read) as lines:
            rows = []
            for line in lines:
                rows.append(json.loads(line))
                progress(rows[-1])
        if not await_ranks(pids):
            sys.exit(f"bench_torch: a rank of {ranks} has failed (see above)")
    return rows


def progress(row):
    print(f"{row['collective']}, {row['ranks']} ranks, {row['bytes']} bytes", file=sys.stderr)


def start(arguments, rank, ranks, folder, pipe):
    pid = os.fork()
    if pid != 0:
        return pid
    code = 1
    try:
        run_rank(arguments, rank, ranks, folder, pipe)
        code = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def run_rank(arguments, rank, ranks, folder, pipe):
    torch.set_num_threads(1)
    if arguments.device == "cuda":
        torch.cuda.set_device(rank)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=ranks,
                            timeout=TIMEOUT)
    with os.fdopen(pipe, "w", buffering=1) as out:
        def on_row(row):
            if rank == 0:
                print(json.dumps(row), file=out)
        Bench(arguments, rank, ranks).run(on_row)
    dist.barrier()
    dist.destroy_process_group()


def await_ranks(pids):
    """Whether all ranks succeeded; the first failure ends the others."""
    left, good = set(pids), True
    while left:
        pid, status = os.wait()
        left.discard(pid)
        if status != 0 and good:
            good = False
            for other in left:
                os.kill(other, signal.SIGKILL)
    return good
