# SPDX-License-Identifier: Apache-2.0
"""Sends and receives of torch.distributed on the CPU: any source, tags, batches, lengths, and mixed with
collectives."""
import time
import unittest

import torch
import torch.distributed as dist

from world import DEVICE, finish, run


def everybody_to_everybody(rank, size):
    for elements in (0, 1, 1000, 300_001):
        got = [torch.full((elements,), -1.0) for _ in range(size)]
        works = [dist.irecv(got[r], r) for r in range(size) if r != rank]
        works += [dist.isend(torch.full((elements,), float(rank)), r) for r in range(size) if r != rank]
        for work in reversed(works):
            work.wait()
            finish()
            assert work.is_completed()
        assert all(got[r].eq(r).all() for r in range(size) if r != rank)


def batches(rank, size):
    left, right = (rank - 1) % size, (rank + 1) % size
    from_left, from_right = torch.empty(100_000), torch.empty(100_000)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, torch.full((100_000,), float(rank)), right),
        dist.P2POp(dist.isend, torch.full((100_000,), rank + 100.0), left, tag=4),
        dist.P2POp(dist.irecv, from_left, left),
        dist.P2POp(dist.irecv, from_right, right, tag=4)])
    for work in works:
        work.wait()
    assert from_left.eq(left).all() and from_right.eq(right + 100).all()


def any_source(rank, size):
    if DEVICE != "cpu":
        return  # refused
    if rank != 0:
        dist.send(torch.tensor([float(rank)]), 0, tag=3)
        return
    came = set()
    for _ in range(size - 1):
        tensor = torch.empty(1)
        source = dist.recv(tensor, tag=3)
        assert tensor.item() == source
        came.add(source)
    assert came == set(range(1, size))


def tags_choose(rank, size):
    if rank == 0:
        for tag in (1, 2, 3):
            dist.send(torch.tensor([tag]), 1, tag=tag)
    elif rank == 1:
        for tag in (3, 1, 2):
            got = torch.empty(1, dtype=torch.int64)
            assert dist.recv(got, 0, tag=tag) == 0 and got.item() == tag


def beside_collectives(rank, size):
    """A send whose receiver accepts it just before a collective that the sender has already entered."""
    tensor = torch.arange(500_000.0)
    if rank == 0:
        work = dist.isend(tensor, 1)
        dist.barrier()
        work.wait()
    else:
        got = torch.empty(500_000)
        if rank == 1:
            dist.recv(got, 0)
            assert got.equal(tensor)
        dist.barrier()


def dropped_in_flight(rank, size):
    """Neither a Work nor its tensor has to be kept alive."""
    if rank == 0:
        for _ in range(5):
            dist.isend(torch.full((200_000,), 7.0), 1)
        dist.all_reduce(torch.ones(3), async_op=True)
    if rank == 1:
        for _ in range(5):
            got = torch.empty(200_000)
            dist.recv(got, 0)
            assert got.eq(7).all()
    if rank != 0:
        dist.all_reduce(torch.ones(3))
    dist.barrier()


def not_in_one_piece(rank, size):
    wide = torch.zeros(50, 2)
    if rank == 0:
        wide[:, 1] = torch.arange(50.0)
        dist.send(wide[:, 1], 1)
    elif rank == 1:
        dist.recv(wide[:, 0], 0)
        assert wide[:, 0].equal(torch.arange(50.0)) and wide[:, 1].eq(0).all()


def list_of_objects(rank, size):
    if rank == 0:
        dist.send_object_list([{"a": 1}, "text"], 1)
    elif rank == 1:
        got = [None, None]
        dist.recv_object_list(got, 0)
        assert got == [{"a": 1}, "text"]


def in_a_subgroup(rank, size):
    group = dist.new_group(list(range(1, size)))
    if rank == size - 1:
        dist.send(torch.tensor([5.0]), group=group, group_dst=0)
    elif rank == 1:
        got = torch.empty(1)
        source = dist.recv(got, group=group) if DEVICE == "cpu" else dist.recv(got, size - 1, group=group)
        assert source == size - 1 and got.item() == 5


def sent_by_who_has_left(rank, size):
    if rank == 0:
        dist.send(torch.tensor([8.0]), 1)
        return  # destroys its group
    if rank == 1:
        time.sleep(0.3)
        got = torch.empty(1)
        dist.recv(got, 0)
        assert got.item() == 8


class Messages(unittest.TestCase):
    def test_two_and_three_ranks(self):
        for body in (everybody_to_everybody, batches, any_source, tags_choose, beside_collectives, dropped_in_flight,
                     not_in_one_piece, list_of_objects, sent_by_who_has_left):
            for size in (2, 3):
                with self.subTest(body=body.__name__, size=size):
                    run(size, body)

    def test_in_a_subgroup(self):
        run(3, in_a_subgroup)

    def test_everybody_to_everybody_on_four(self):
        run(4, everybody_to_everybody)


if __name__ == "__main__":
    unittest.main(verbosity=2)
