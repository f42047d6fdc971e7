# SPDX-License-Identifier: Apache-2.0
"""Ranks for tests: forked from a process that has imported torch, in a group of Rondo's backend.

    run(3, lambda rank, size: dist.all_reduce(torch.ones(2)))

raises AssertionError with the tracebacks of all failed ranks, and kills ranks that take too long.
"""
import contextlib
import datetime
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
import warnings

import torch
import torch.distributed as dist

warnings.simplefilter("ignore")  # torch's own, about its future
torch.set_num_threads(1)  # also because a thread pool does not survive a fork
FORK = multiprocessing.get_context("fork")
BACKEND = os.environ.get("RONDO_TORCH_BACKEND", "rondo")
DEVICE = os.environ.get("RONDO_TEST_TORCH_DEVICE", "cpu")  # "cuda": tensors are on one GPU, which all ranks share


def enter(rank, size, file, timeout_s=60, backend=BACKEND):
    # On GPUs the first call must be one that all ranks make, unless their device is known.
    place = {} if DEVICE == "cpu" else {"device_id": torch.device(DEVICE, 0)}
    dist.init_process_group(backend, init_method=f"file://{file}", rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=timeout_s), **place)


def finish():
    """Waits for the GPU, which may still be busy after wait() has returned."""
    if DEVICE != "cpu":
        torch.cuda.synchronize()


def _child(body, rank, size, file, options, said):
    try:
        torch.set_default_device(DEVICE)
        if options.pop("init", True):
            enter(rank, size, file, **options)
        body(rank, size)
        if dist.is_initialized():
            dist.destroy_process_group()
    except BaseException:  # the test must learn of any cause
        said.send(traceback.format_exc())
        said.close()
        sys.exit(1)


def start(size, body, folder, **options):
    """The processes, and the pipes on which they report failures."""
    file = os.path.join(folder, "store")
    ranks = []
    for rank in range(size):
        heard, said = FORK.Pipe(duplex=False)
        process = FORK.Process(target=_child, args=(body, rank, size, file, dict(options), said))
        process.start()
        said.close()
        ranks.append((process, heard))
    return ranks


def _what_it_said(process, heard):
    with contextlib.suppress(EOFError):
        if heard.poll():
            return heard.recv()
    return f"ended with exit code {process.exitcode}"


def run(size, body, *, limit_s=60, dies=(), **options):
    """Runs `body` on all ranks; those in `dies` may end in any way."""
    with tempfile.TemporaryDirectory() as folder:
        ranks = start(size, body, folder, **options)
        until = time.monotonic() + limit_s
        for process, _ in ranks:
            process.join(max(0.1, until - time.monotonic()))
        hung = [rank for rank, (process, _) in enumerate(ranks) if process.is_alive()]
        for process, _ in ranks:
            process.kill()
            process.join()
        failed = [f"rank {rank}: {_what_it_said(process, heard)}" for rank, (process, heard) in enumerate(ranks)
                  if process.exitcode != 0 and rank not in dies and rank not in hung]
    if hung:
        failed.insert(0, f"ranks {hung} were not over after {limit_s} s")
    if failed:
        raise AssertionError("\n".join(failed))


def raises(kinds, *words):
    """A context that expects one of these exceptions, with all these words in its text."""
    return _Raises(kinds, words)


class _Raises:
    def __init__(self, kinds, words):
        self.kinds, self.words = kinds, words

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        assert kind is not None, f"nothing was raised, where {self.kinds} was expected"
        if not issubclass(kind, self.kinds):
            return False
        for word in self.words:
            assert word in str(error), f"'{word}' is not in '{error}'"
        self.text = str(error)
        return True
