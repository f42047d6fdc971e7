# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks of these examples. A script calls `run(main, parser)`; main(options) then runs on every rank,
with the process group initialised. All of these work for every script:

    torchrun --nproc-per-node 4 SCRIPT                      the launcher's variables give the rank (env://)
    python -m torch.distributed.launch --nproc-per-node 4 SCRIPT
    python SCRIPT --spawn 4                                 four processes of torch.multiprocessing
    python SCRIPT --init-method URL --rank R --world-size N     each rank by hand; they meet at
        URL = tcp://HOST:PORT                               rank 0, which listens there
        URL = file:///PATH                                  a new file that all ranks can access
"""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing


def make_parser(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    group = parser.add_argument_group("start")
    group.add_argument("--backend", default="rondo", help="the backend of torch.distributed (rondo)")
    group.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where tensors are (cpu)")
    group.add_argument("--spawn", type=int, metavar="N", help="start N ranks on this host")
    group.add_argument("--init-method", metavar="URL", help="where ranks meet: env:// (default), tcp:// or file://")
    group.add_argument("--rank", type=int, help="this rank, with tcp:// and file://")
    group.add_argument("--world-size", type=int, help="how many ranks there are, with tcp:// and file://")
    # torch.distributed.launch of older versions passes it; newer ones set LOCAL_RANK.
    group.add_argument("--local-rank", "--local_rank", type=int, help=argparse.SUPPRESS)
    return parser


def run(main, parser):
    """Runs main(options) on the rank that this process is, or on every rank that it spawns."""
    options = parser.parse_args()
    if options.spawn is None:
        join(main, options)
        return
    with tempfile.TemporaryDirectory() as folder:
        options.world_size = options.spawn
        options.init_method = options.init_method or f"file://{folder}/meeting"
        torch.multiprocessing.spawn(run_spawned, args=(main, options), nprocs=options.spawn)


def run_spawned(rank, main, options):
    options.rank = options.local_rank = rank
    join(main, options)


def join(main, options):
    torch.set_num_threads(1)  # ranks of a host share its cores
    place = {} if options.rank is None else {"rank": options.rank, "world_size": options.world_size}
    if options.device == "cuda":
        torch.cuda.set_device(local_rank(options) % torch.cuda.device_count())
    dist.init_process_group(options.backend, init_method=options.init_method, **place)
    try:
        main(options)
    finally:
        dist.destroy_process_group()


def local_rank(options):
    if options.local_rank is not None:
        return options.local_rank
    return int(os.environ.get("LOCAL_RANK", options.rank or 0))


def say(*words):
    """Prints on rank 0 only."""
    if dist.get_rank() == 0:
        print(*words, flush=True)
