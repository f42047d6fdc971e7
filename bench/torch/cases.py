# SPDX-License-Identifier: Apache-2.0
"""The timed cases: collectives on float32, on buffers that both backends use."""
from dataclasses import dataclass

import torch
import torch.distributed as dist

FLOAT_BYTES = 4
DDP_STEP = "ddp_step"


@dataclass
class Buffers:
    """Buffers of the largest size; a case uses the first elements."""
    input: torch.Tensor
    output: torch.Tensor

    @classmethod
    def make(cls, last_bytes, device):
        count = max(1, last_bytes // FLOAT_BYTES) + 64
        return cls(torch.zeros(count, device=device), torch.zeros(count, device=device))


class Case:
    """One collective at one size: `call(group)` runs it, `wrong(group)` runs it on known data."""

    def __init__(self, buffers, size, ranks):
        # The size is the larger of a rank's input and output; a block is the part that each rank contributes.
        self.block = max(1, size // (FLOAT_BYTES * ranks))
        self.count = self.block * ranks if self.in_blocks else max(1, size // FLOAT_BYTES)
        self.bytes = self.count * FLOAT_BYTES
        self.ranks = ranks
        self.input, self.output = self.cut(buffers)

    in_blocks = True

    def cut(self, buffers):
        return buffers.input[:self.count], buffers.output[:self.count]

    def wrong(self, group):
        """Whether the result is wrong; leaves zeros behind, which sums do not change."""
        rank = dist.get_rank()
        self.output.fill_(-1)
        self.fill(rank)
        self.call(group)
        is_wrong = not torch.equal(self.output, self.wanted(rank))
        self.input.zero_()
        self.output.zero_()
        return is_wrong

    def fill(self, rank):
        self.input.fill_(rank + 1)

    def each_rank(self):
        """Block r holds r + 1."""
        numbers = torch.arange(1.0, self.ranks + 1, device=self.input.device)
        return numbers.repeat_interleave(self.block)


class AllReduce(Case):
    """In place, as DDP does it."""
    in_blocks = False

    def cut(self, buffers):
        return (buffers.input[:self.count],) * 2

    def call(self, group):
        dist.all_reduce(self.input, group=group)

    def wanted(self, rank):
        return torch.full_like(self.output, self.ranks * (self.ranks + 1) / 2)


class AllGather(Case):
    def cut(self, buffers):
        return buffers.input[:self.block], buffers.output[:self.count]

    def call(self, group):
        dist.all_gather_into_tensor(self.output, self.input, group=group)

    def wanted(self, rank):
        return self.each_rank()


class ReduceScatter(Case):
    def cut(self, buffers):
        return buffers.input[:self.count], buffers.output[:self.block]

    def call(self, group):
        dist.reduce_scatter_tensor(self.output, self.input, group=group)

    def fill(self, rank):
        self.input.copy_(self.each_rank())

    def wanted(self, rank):
        return torch.full_like(self.output, self.ranks * (rank + 1))


class AllToAll(Case):
    def call(self, group):
        dist.all_to_all_single(self.output, self.input, group=group)

    def wanted(self, rank):
        return self.each_rank()


class Broadcast(Case):
    in_blocks = False

    def cut(self, buffers):
        return (buffers.input[:self.count],) * 2

    def call(self, group):
        dist.broadcast(self.input, src=0, group=group)

    def wanted(self, rank):
        return torch.ones_like(self.output)


COLLECTIVES = {"all_reduce": AllReduce, "all_gather": AllGather, "reduce_scatter": ReduceScatter,
               "all_to_all": AllToAll, "broadcast": Broadcast}
