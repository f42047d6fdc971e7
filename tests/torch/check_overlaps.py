# SPDX-License-Identifier: Apache-2.0
"""Lists of tensors that share memory: afterwards, every rank's whole memory equals Gloo's result."""
import random
import unittest

import torch
import torch.distributed as dist

from world import run

ELEMENTS = 60
CALLS = 40  # of each kind


class Views:
    """Views at random places of a rank's memory, so that most overlap; some repeat a tensor, some have gaps."""

    def __init__(self, memory, seed):
        self.memory, self.random, self.latest = memory, random.Random(seed), None

    def one(self, length):
        if self.latest is not None and self.latest.numel() == length and self.random.random() < 0.3:
            return self.latest
        step = self.random.choice((1, 1, 2))
        begin = self.random.randrange(ELEMENTS - step * length + 1)
        self.latest = self.memory[begin:begin + step * length:step]
        return self.latest

    def each(self, lengths):
        return [self.one(length) for length in lengths]

    def in_a_row(self, length, count):
        """Adjacent views, as passed by callers who know that these may be handled as one piece."""
        begin = self.random.randrange(ELEMENTS - length * count + 1)
        return list(self.memory[begin:begin + length * count].chunk(count))

    def parts(self, length, count):
        return self.in_a_row(length, count) if self.random.random() < 0.5 else self.each([length] * count)


def all_reduce_coalesced(group, views, lengths):
    group.allreduce_coalesced(views.each(lengths)).wait()


def all_gather(group, views, lengths):
    group.allgather([views.parts(lengths[0], group.size())], [views.one(lengths[0])]).wait()


def all_gather_coalesced(group, views, lengths):
    group.allgather_coalesced([views.each(lengths) for _ in range(group.size())], views.each(lengths)).wait()


def all_gather_into_tensor(group, views, lengths):
    dist.all_gather_into_tensor(views.one(group.size() * lengths[0]), views.one(lengths[0]), group=group)


def all_gather_into_tensor_coalesced(group, views, lengths):
    wholes = views.each([group.size() * length for length in lengths])
    group.allgather_into_tensor_coalesced(wholes, views.each(lengths)).wait()


def reduce_scatter(group, views, lengths):
    output = torch.zeros(lengths[0], dtype=views.memory.dtype)  # Gloo refuses one that shares memory with inputs
    group.reduce_scatter([output], [views.parts(lengths[0], group.size())]).wait()
    views.memory[:lengths[0]] = output


def reduce_scatter_tensor(group, views, lengths):
    dist.reduce_scatter_tensor(views.one(lengths[0]), views.one(group.size() * lengths[0]), group=group)


def reduce_scatter_tensor_coalesced(group, views, lengths):
    parts = views.each(lengths)
    group.reduce_scatter_tensor_coalesced(parts, views.each([group.size() * length for length in lengths])).wait()


def all_to_all(group, views, lengths):
    group.alltoall(views.parts(lengths[0], group.size()), views.parts(lengths[0], group.size())).wait()


def gather(group, views, lengths):
    own, parts = views.one(lengths[0]), views.parts(lengths[0], group.size())
    dist.gather(own, parts if group.rank() == 0 else None, group=group)


def coalescing_manager(group, views, lengths):
    with dist._coalescing_manager(group):
        for length in lengths:
            dist.all_reduce(views.one(length), group=group)


def broadcast_coalesced(group, views, lengths):
    dist._broadcast_coalesced(group, views.each(lengths), 1 << 20, 0)


KINDS = (all_reduce_coalesced, all_gather, all_gather_coalesced, all_gather_into_tensor,
         all_gather_into_tensor_coalesced, reduce_scatter, reduce_scatter_tensor, reduce_scatter_tensor_coalesced,
         all_to_all, gather, coalescing_manager, broadcast_coalesced)


def as_gloo_does(rank, size):
    groups = dist.group.WORLD, dist.new_group(backend="gloo")
    for kind in KINDS:
        for call in range(CALLS):
            lengths = [random.Random(call).randrange(1, 6) for _ in range(3)]
            memories = []
            for group in groups:
                memory = torch.randint(100, (ELEMENTS,), generator=torch.Generator().manual_seed(call * size + rank))
                kind(group, Views(memory, call * size + rank), lengths)
                memories.append(memory)
            assert memories[0].equal(memories[1]), f"{kind.__name__} {call}: {memories[0]}, by Gloo {memories[1]}"


class Overlaps(unittest.TestCase):
    def test_one_tensor_twice(self):
        def twice(rank, size):
            tensor = torch.ones(5)
            dist.all_reduce_coalesced([tensor, tensor])
            assert tensor.eq(size).all(), tensor
        run(4, twice)

    def test_tensors_that_share_memory(self):
        for size in (2, 3, 4):
            with self.subTest(size=size):
                run(size, as_gloo_does)


if __name__ == "__main__":
    unittest.main(verbosity=2)
