# SPDX-License-Identifier: Apache-2.0
"""The collectives of torch.distributed: the call that is timed, its input and its expected result."""
import torch
import torch.distributed as dist

ROOT = 0
# torch.distributed has only the in-place form of these.
ONE_BUFFER = ("all_reduce", "broadcast", "reduce")
BLOCKS_IN = ("reduce_scatter", "all_to_all", "scatter")
BLOCKS_OUT = ("all_gather", "all_to_all", "gather")
RESULT_AT_ROOT = ("reduce", "gather")


def send_recv(side):
    sent = dist.isend(side.input, (side.rank + 1) % side.ranks)
    dist.recv(side.output, (side.rank - 1) % side.ranks)
    sent.wait()


def at_root(side, tensor):
    """One tensor for each rank if this rank is the root, else None."""
    return list(tensor.chunk(side.ranks)) if side.rank == ROOT else None


CALLS = {
    "all_reduce": lambda side: dist.all_reduce(side.output),
    "broadcast": lambda side: dist.broadcast(side.output, ROOT),
    "reduce": lambda side: dist.reduce(side.output, ROOT),
    "all_gather": lambda side: dist.all_gather_into_tensor(side.output, side.input),
    "reduce_scatter": lambda side: dist.reduce_scatter_tensor(side.output, side.input),
    "all_to_all": lambda side: dist.all_to_all_single(side.output, side.input),
    "gather": lambda side: dist.gather(side.input, at_root(side, side.output), ROOT),
    "scatter": lambda side: dist.scatter(side.output, at_root(side, side.input), ROOT),
    "send_recv": send_recv,
    "barrier": lambda side: dist.barrier(),
}


class Side:
    """One rank's side of a call. `elements` is the number of elements of the longer of input and output."""

    def __init__(self, name, rank, ranks, elements, send, recv, in_place):
        self.name, self.rank, self.ranks = name, rank, ranks
        in_blocks = name in BLOCKS_IN + BLOCKS_OUT
        self.count = elements // ranks if in_blocks else elements
        one_buffer = in_place or name in ONE_BUFFER
        send = recv if one_buffer else send
        self.input = self.cut(send, name in BLOCKS_IN, one_buffer and name in BLOCKS_OUT)
        self.output = self.cut(recv, name in BLOCKS_OUT, one_buffer and name in BLOCKS_IN)

    def cut(self, buffer, blocks, own_block):
        start = self.rank * self.count if own_block else 0
        return buffer[start:start + self.count * (self.ranks if blocks else 1)]

    def call(self):
        CALLS[self.name](self)

    def count_wrong(self):
        """Returns the number of wrong elements in this rank's result of a call on known data; leaves zeros behind."""
        if self.name == "barrier":
            return 0
        self.output.fill_(-1)
        self.input.copy_(self.values(self.rank, self.input.numel()))
        self.call()
        has_result = self.name not in RESULT_AT_ROOT or self.rank == ROOT
        wrong = int((self.output != self.expected()).sum()) if has_result else 0
        self.input.zero_()
        self.output.zero_()
        return wrong

    def values(self, rank, number, first=0):
        """A rank's input: small whole numbers, whose sums every type represents exactly."""
        return (torch.arange(first, first + number) + 3 * rank).remainder(7).add(1).to(self.output.dtype)

    def expected(self):
        everyone, own = range(self.ranks), self.rank * self.count
        if self.name in ("all_reduce", "reduce", "reduce_scatter"):
            first = own if self.name in BLOCKS_IN else 0
            return sum(self.values(rank, self.count, first) for rank in everyone)
        if self.name in BLOCKS_OUT:
            first = own if self.name in BLOCKS_IN else 0
            return torch.cat([self.values(rank, self.count, first) for rank in everyone])
        if self.name == "scatter":
            return self.values(ROOT, self.count, own)
        return self.values(ROOT if self.name == "broadcast" else (self.rank - 1) % self.ranks, self.count)
