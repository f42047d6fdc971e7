# SPDX-License-Identifier: Apache-2.0
"""Failures, and their errors on the ranks: bad arguments, ranks that disagree, die, leave or hang."""
import datetime
import inspect
import os
import signal
import time
import unittest

import torch
import torch.distributed as dist

from world import raises, run

MS = datetime.timedelta(milliseconds=1)


def bad_arguments(rank, size):
    one, two = torch.ones(2), torch.ones(3)
    group = dist.group.WORLD
    with raises(ValueError, "cannot use ReduceOp.BAND", "Float", "integers"):
        dist.all_reduce(one, dist.ReduceOp.BAND)
    with raises(ValueError, "does not support", "MAX"):
        dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX)
    with raises(ValueError, "AVG", "Bool"):
        dist.all_reduce(torch.ones(2, dtype=torch.bool), dist.ReduceOp.AVG)
    with raises(TypeError, "Float8_e4m3fnuz", "moved"):
        dist.all_reduce(torch.ones(2).to(torch.float8_e4m3fnuz))
    with raises(NotImplementedError):  # by torch itself
        dist.broadcast(torch.eye(2).to_sparse(), 0)
    with raises(ValueError, "sparse tensors can only be summed"):
        dist.all_reduce(torch.eye(2).to_sparse(), dist.ReduceOp.MAX)
    with raises((NotImplementedError, RuntimeError)):  # by torch itself
        dist.all_reduce(torch.eye(2).to_sparse_csr())
    with raises(ValueError, "invalid root rank: 7"):
        group.broadcast([one], _root(7)).wait()
    with raises(ValueError, "requires a single-element input tensor list"):
        group.allreduce([one, two]).wait()
    with raises(ValueError, "invalid tensor size", "must have 2"):
        dist.reduce_scatter_tensor(torch.ones(1), torch.ones(5))
    with raises((ValueError, TypeError), "type"):
        dist.all_gather_into_tensor(torch.ones(size), torch.ones(1, dtype=torch.float64))
    with raises(ValueError, "invalid tensor size", "must have 2"):
        dist.all_gather_coalesced([[torch.empty(1)] for _ in range(size)], [one])
    if rank == 0:
        with raises(ValueError, "invalid tensor size", "must have 2"):
            group.gather([[torch.empty(1) for _ in range(size)]], [one]).wait()
    with raises(ValueError, "do not add up"):
        dist.all_to_all_single(torch.ones(size), torch.ones(size), [5] * size, [1] * size)
    with raises(ValueError, "peer is 9"):
        group.send([one], 9, 0)
    dist.barrier()  # the group still works


def _root(rank):
    options = dist.BroadcastOptions()
    options.rootRank = rank
    return options


def disagree(make_call, *words):
    def body(rank, size):
        import rondo
        with raises(rondo.CollectiveMismatch, "CollectiveMismatch", *words) as error:
            make_call(rank)
        assert issubclass(rondo.CollectiveMismatch, dist.DistBackendError)
        assert "rank 0" in error.text and "rank 1" in error.text, error.text
    return body


def a_rank_dies(rank, size):
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    with raises(dist.DistBackendError, "rank 1"):
        for _ in range(1000):
            dist.all_reduce(tensor)
            time.sleep(0.01)
    assert time.monotonic() - begin < 1.5


def a_rank_dies_beside_a_receive(rank, size):
    dist.barrier()
    if rank == 1:
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    with raises(dist.DistBackendError, "rank 1"):
        dist.recv(torch.empty(1), 1)
    assert time.monotonic() - begin < 1.5


def a_rank_leaves(rank, size):
    dist.barrier()
    if rank == 0:
        return  # destroys its group
    with raises(dist.DistBackendError, "rank 0", "left"):
        dist.all_reduce(torch.ones(3))


def a_rank_never_calls(rank, size):
    dist.barrier()
    sleeps_at = inspect.currentframe().f_lineno + 2
    if rank == 0:
        time.sleep(1)
        return
    with raises(dist.DistBackendError, " timeout ", "rank 0",
                f"its program is in check_failures.py:{sleeps_at} (a_rank_never_calls)"):
        dist.group.WORLD.allreduce([torch.ones(3)], _within(300 * MS)).wait()


def _within(timeout):
    options = dist.AllreduceOptions()
    options.timeout = timeout
    return options


def waiting_for_a_while(rank, size):
    """A wait(timeout) that is too short does no harm."""
    work = None
    if rank == 1:
        tensor = torch.ones(3)
        work = dist.all_reduce(tensor, async_op=True)
        with raises(dist.DistBackendError, " timeout ", "50 ms"):
            work.wait(50 * MS)
    dist.group.WORLD.monitored_barrier()
    if rank == 1:
        work.wait()
        assert tensor.eq(size).all()
    else:
        dist.all_reduce(torch.ones(3))


def abort_frees_who_waits(rank, size):
    dist.barrier()
    if rank == 0:
        time.sleep(0.3)
        dist.group.WORLD.abort()
        return
    with raises(dist.DistBackendError, "abort"):
        dist.all_reduce(torch.ones(3))


def monitored_barrier_names_who_is_missing(rank, size):
    barrier = dist.group.WORLD.monitored_barrier  # dist.monitored_barrier() is for Gloo only before 2.14
    barrier(timeout=2000 * MS)
    if rank == 0:
        with raises(RuntimeError, "Ranks 1, 2 failed to pass monitoredBarrier in 200 ms"):
            barrier(timeout=200 * MS, wait_all_ranks=True)
    dist.barrier()


def wrong_torch(_rank, _size):
    from rondo import backend
    with raises(ImportError, "2.99.0", "built for torch", "pip install"):
        backend.check_torch("2.99.0+cpu")
    with raises(ImportError, "2.11 or later"):
        backend.check_torch("2.4.1")
    with raises((ValueError, AssertionError), "rondoo"):
        dist.init_process_group("rondoo", store=dist.HashStore(), rank=0, world_size=1)


def nobody_comes(_rank, size):
    with raises((RuntimeError, dist.DistStoreError), ""):
        dist.init_process_group("rondo", store=dist.HashStore(), rank=1, world_size=2, timeout=200 * MS)


class Failures(unittest.TestCase):
    def test_bad_arguments(self):
        run(2, bad_arguments)

    def test_ranks_that_disagree_hear_of_both_calls(self):
        for make_call, words in (
                (lambda rank: dist.all_reduce(torch.ones(3 + rank)), ("count=3", "count=4")),
                (lambda rank: dist.all_reduce(torch.ones(3, dtype=(torch.float32, torch.int32)[rank])),
                 ("float32", "int32")),
                (lambda rank: dist.all_reduce(torch.ones(3), (dist.ReduceOp.SUM, dist.ReduceOp.MAX)[rank]),
                 ("sum", "max")),
                (lambda rank: dist.broadcast(torch.ones(3), 0) if rank else dist.all_reduce(torch.ones(3)),
                 ("all_reduce", "broadcast")),
                (lambda rank: (dist.broadcast(torch.ones(3), rank), dist.barrier()), ("root=0", "root=1"))):
            with self.subTest(words=words):
                run(2, disagree(make_call, *words), dies=())

    def test_a_rank_dies(self):
        run(3, a_rank_dies, dies=[1])
        run(3, a_rank_dies_beside_a_receive, dies=[1])

    def test_a_rank_leaves(self):
        run(3, a_rank_leaves)

    def test_timeouts(self):
        run(2, a_rank_never_calls, dies=[0])
        run(2, waiting_for_a_while)

    def test_abort(self):
        run(3, abort_frees_who_waits)

    def test_monitored_barrier(self):
        run(3, monitored_barrier_names_who_is_missing)

    def test_wrong_torch(self):
        run(1, wrong_torch, init=False)

    def test_nobody_comes(self):
        run(1, nobody_comes, init=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
