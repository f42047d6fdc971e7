# SPDX-License-Identifier: Apache-2.0
"""Every collective of torch.distributed on the CPU, compared with plain arithmetic: all types and reductions, 1 to 4
ranks, empty and odd shapes, non-contiguous tensors."""
import functools
import itertools
import operator
import unittest

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import ReduceOp

from world import DEVICE, run

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
MOVED_ONLY = [torch.float8_e4m3fnuz, torch.float8_e8m0fnu, torch.uint16, torch.uint32, torch.uint64,
              torch.complex32, torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2]
SHAPES = [(0,), (), (1,), (7,), (3, 5), (1000, 3)]
SIZES = (1, 2, 3, 4)


def sample(dtype, shape, rank, salt=0):
    """A rank's contribution: small numbers, whose sums and products are exact in every type."""
    numel = functools.reduce(operator.mul, shape, 1)
    numbers = (torch.arange(numel) * 7 + rank * 3 + salt) % 3 + 1
    if dtype in (torch.complex32, torch.complex64, torch.complex128):
        return torch.complex(numbers.float(), -numbers.float()).to(dtype).reshape(shape)
    if dtype == torch.bool:
        return (numbers > 1).reshape(shape)
    if dtype == torch.float8_e8m0fnu:
        return (2.0 ** numbers.float()).to(dtype).reshape(shape)
    return numbers.float().to(dtype).reshape(shape)


def layouts(tensor):
    """The same elements in different memory layouts; writes go through to the underlying tensor."""
    yield tensor.clone()
    if tensor.dim() >= 2:
        yield tensor.t().contiguous().t()
    if tensor.dim() >= 1:
        wide = torch.zeros((*tensor.shape, 2), dtype=tensor.dtype)
        wide[..., 1] = tensor
        yield wide[..., 1]
    around = torch.zeros(tensor.numel() + 5, dtype=tensor.dtype)
    inside = around[2:2 + tensor.numel()].view(tensor.shape)
    inside.copy_(tensor)
    yield inside


def same(got, wanted, what):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape, what
    one, other = (tensor.clone(memory_format=torch.contiguous_format).view(-1) for tensor in (got, wanted))
    assert one.view(torch.uint8).equal(other.view(torch.uint8)), f"{what}: {got} is not {wanted}"


def reduced(op, parts, dtype):
    """The reduction in higher precision, in rank order."""
    if dtype.is_floating_point:
        wide = [part.double() for part in parts]
    else:
        wide = [part.clone() if dtype == torch.bool else part.long() for part in parts]
    step = {ReduceOp.SUM: torch.add, ReduceOp.AVG: torch.add, ReduceOp.PRODUCT: torch.mul, ReduceOp.MIN: torch.minimum,
            ReduceOp.MAX: torch.maximum, ReduceOp.BAND: torch.bitwise_and, ReduceOp.BOR: torch.bitwise_or,
            ReduceOp.BXOR: torch.bitwise_xor}[op]
    total = functools.reduce(step, wide)
    if op == ReduceOp.AVG:
        total = total / len(parts) if dtype.is_floating_point else torch.div(total, len(parts), rounding_mode="trunc")
    return total.to(dtype)


def reductions():
    for dtype in INTEGERS + FLOATS:
        ops = [ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX]
        ops += [] if dtype.is_floating_point else [ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR]
        yield from ((dtype, op) for op in ops)


def all_reduce_everything(rank, size):
    for (dtype, op), shape in itertools.product(reductions(), SHAPES):
        wanted = reduced(op, [sample(dtype, shape, r) for r in range(size)], dtype)
        for tensor in layouts(sample(dtype, shape, rank)):
            dist.all_reduce(tensor, op)
            same(tensor, wanted, f"all_reduce {op} {dtype} {shape}")


def reduce_everything(rank, size):
    for (dtype, op), root in itertools.product(reductions(), range(size)):
        shape = (5, 3)
        wanted = reduced(op, [sample(dtype, shape, r) for r in range(size)], dtype)
        for tensor in layouts(sample(dtype, shape, rank)):
            dist.reduce(tensor, root, op)
            if rank == root:
                same(tensor, wanted, f"reduce {op} {dtype} to {root}")


def reduce_scatter_everything(rank, size):
    for dtype, op in reductions():
        for rows in (0, 1, 6):
            parts = [sample(dtype, (rows * size, 3), r) for r in range(size)]
            wanted = reduced(op, parts, dtype)[rank * rows:(rank + 1) * rows]
            for tensor in layouts(parts[rank]):
                output = torch.empty((rows, 3), dtype=dtype)
                dist.reduce_scatter_tensor(output, tensor, op)
                same(output, wanted, f"reduce_scatter_tensor {op} {dtype}")
        lengths = [r % 3 for r in range(size)]  # 0, 1, 2, 0, ...
        lists = [[sample(dtype, (lengths[to], 4), r, to) for to in range(size)] for r in range(size)]
        output = torch.empty((lengths[rank], 4), dtype=dtype)
        dist.reduce_scatter(output, list(lists[rank]), op)
        same(output, reduced(op, [of_rank[rank] for of_rank in lists], dtype), f"reduce_scatter {op} {dtype}")


def scaled_sums(rank, size):
    for dtype, factor in itertools.product(FLOATS, (0.5, torch.tensor([2.0]))):
        op = dist._make_nccl_premul_sum(factor)
        tensor = sample(dtype, (9,), rank)
        wanted = sum(float(factor) * sample(dtype, (9,), r).double() for r in range(size)).to(dtype)
        dist.all_reduce(tensor, op)
        same(tensor, wanted, f"PREMUL_SUM by {factor} of {dtype}")


def booleans_and_complex(rank, size):
    truths = sample(torch.bool, (11,), rank)
    parts = [sample(torch.bool, (11,), r) for r in range(size)]
    for op, step in ((ReduceOp.SUM, torch.logical_or), (ReduceOp.PRODUCT, torch.logical_and),
                     (ReduceOp.BAND, torch.logical_and), (ReduceOp.BOR, torch.logical_or),
                     (ReduceOp.BXOR, torch.logical_xor), (ReduceOp.MIN, torch.logical_and),
                     (ReduceOp.MAX, torch.logical_or)):
        tensor = truths.clone()
        dist.all_reduce(tensor, op)
        same(tensor, functools.reduce(step, parts), f"all_reduce {op} of bool")
    for dtype in (torch.complex64, torch.complex128):
        for op in (ReduceOp.SUM, ReduceOp.AVG):
            tensor = sample(dtype, (5,), rank)
            dist.all_reduce(tensor, op)
            wanted = sum(sample(dtype, (5,), r) for r in range(size))
            same(tensor, wanted / size if op == ReduceOp.AVG else wanted, f"all_reduce {op} of {dtype}")


def move_everything(rank, size):
    for dtype, shape in itertools.product(INTEGERS + FLOATS + MOVED_ONLY, SHAPES):
        what = f"{dtype} {shape}"
        of = functools.partial(sample, dtype, shape)
        for root in range(size):
            tensor = of(rank)
            dist.broadcast(tensor, root)
            same(tensor, of(root), "broadcast " + what)
        outputs = [torch.empty(shape, dtype=dtype) for _ in range(size)]
        dist.all_gather(outputs, of(rank))
        for r in range(size):
            same(outputs[r], of(r), "all_gather " + what)
        whole = torch.empty((size, *shape), dtype=dtype)
        dist.all_gather_into_tensor(whole, of(rank))
        same(whole, torch.stack([of(r) for r in range(size)]),
             "all_gather_into_tensor " + what)
        root = size - 1
        outputs = [torch.empty(shape, dtype=dtype) for _ in range(size)] if rank == root else None
        dist.gather(of(rank), outputs, dst=root)
        for r in range(size if rank == root else 0):
            same(outputs[r], of(r), "gather " + what)
        output = torch.empty(shape, dtype=dtype)
        dist.scatter(output, [of(r) for r in range(size)] if rank == root else None, src=root)
        same(output, of(rank), "scatter " + what)
        outputs = [torch.empty(shape, dtype=dtype) for _ in range(size)]
        dist.all_to_all(outputs, [of(10 * rank + to) for to in range(size)])
        for r in range(size):
            same(outputs[r], of(10 * r + rank), "all_to_all " + what)


def move_layouts(rank, size):
    shape = (4, 3)
    for tensor in layouts(sample(torch.float32, shape, rank)):
        wanted = [sample(torch.float32, shape, r) for r in range(size)]
        for empties in (list(torch.empty((size, *shape))),  # consecutive views of one storage
                        list(torch.empty((*shape, size)).unbind(-1)),  # likewise, interleaved
                        [torch.empty(shape) for _ in range(size)]):
            dist.all_gather(empties, tensor)
            for r in range(size):
                same(empties[r], wanted[r], "all_gather into views")
        root = 0
        moved = tensor.clone() if rank == root else torch.zeros(tuple(reversed(shape))).t()
        dist.broadcast(moved, root)
        same(moved, wanted[root], "broadcast between layouts")


def uneven(rank, size):
    shapes = [(r % 3, 2) for r in range(size)]
    outputs = [torch.empty(shape) for shape in shapes]
    dist.all_gather(outputs, sample(torch.float32, shapes[rank], rank))
    for r in range(size):
        same(outputs[r], sample(torch.float32, shapes[r], r), "uneven all_gather")
    sends = [(rank + to) % 3 for to in range(size)]
    receives = [(r + rank) % 3 for r in range(size)]
    blocks = [sample(torch.int32, (rows, 5), 10 * rank + to) for to, rows in enumerate(sends)]
    output = torch.empty((sum(receives), 5), dtype=torch.int32)
    dist.all_to_all_single(output, torch.cat(blocks), receives, sends)
    wanted = [sample(torch.int32, (rows, 5), 10 * r + rank) for r, rows in enumerate(receives)]
    same(output, torch.cat(wanted), "all_to_all_single with splits")
    outputs = [torch.empty((rows, 5), dtype=torch.int32) for rows in receives]
    dist.all_to_all(outputs, blocks)
    for r in range(size):
        same(outputs[r], wanted[r], "uneven all_to_all")


def coalesced(rank, size):
    tensors = [sample(torch.float32, (n,), rank, n) for n in (1, 0, 65)]
    dist.all_reduce_coalesced(tensors)
    for tensor, n in zip(tensors, (1, 0, 65)):
        same(tensor, sum(sample(torch.float32, (n,), r, n) for r in range(size)), "all_reduce_coalesced")
    outputs = [[torch.empty(3), torch.empty(2, 2)] for _ in range(size)]
    inputs = [sample(torch.float32, (3,), rank), sample(torch.float32, (2, 2), rank)]
    dist.all_gather_coalesced(outputs, inputs)
    for r in range(size):
        same(outputs[r][0], sample(torch.float32, (3,), r), "all_gather_coalesced")
        same(outputs[r][1], sample(torch.float32, (2, 2), r), "all_gather_coalesced")
    for async_op in (False, True):
        wholes = [torch.empty(size, n) for n in (2, 5)]
        parts = [torch.empty(n) for n in (2, 5)]
        sums = [sample(torch.float32, (4,), rank), sample(torch.float32, (6,), rank)]
        wanted = [torch.stack([sample(torch.float32, (w.shape[1],), r) for r in range(size)]) for w in wholes]
        for calls in (lambda: [dist.all_gather_into_tensor(w, all_of[rank]) for w, all_of in zip(wholes, wanted)],
                      lambda: [dist.reduce_scatter_tensor(p, torch.ones(size * p.numel())) for p in parts],
                      lambda: [dist.all_reduce(s) for s in sums]):
            with dist._coalescing_manager(async_ops=async_op) as manager:
                calls()
            if async_op:
                manager.wait()
        for whole, all_of in zip(wholes, wanted):
            same(whole, all_of, "coalesced")
        assert all(part.eq(size).all() for part in parts)
        same(sums[1], sum(sample(torch.float32, (6,), r) for r in range(size)), "coalesced sums")


def sparse(rank, size):
    def of(r, tail):
        indices, values = torch.tensor([[r, 0], [0, 1]]), torch.ones((2, *tail)) * (r + 1)
        return torch.sparse_coo_tensor(indices, values, (size, 2, *tail), check_invariants=True)

    for tail in ((), (2, 2)):
        tensor = of(rank, tail)
        dist.all_reduce(tensor)
        same(tensor.to_dense(), sum(of(r, tail).to_dense() for r in range(size)), "sum of sparse tensors")


def objects(rank, size):
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "text": "x" * rank})
    assert everything == [{"rank": r, "text": "x" * r} for r in range(size)]
    told = [("from", rank)] if rank == 0 else [None]
    dist.broadcast_object_list(told, 0)
    assert told == [("from", 0)]
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(rank, gathered, 0)
    assert rank != 0 or gathered == list(range(size))
    mine = [None]
    dist.scatter_object_list(mine, [[r] for r in range(size)] if rank == 0 else None, 0)
    assert mine == [[rank]]


def large(rank, size):
    tensor = torch.full((3_000_001,), float(rank))
    dist.all_reduce(tensor)
    assert tensor.eq(sum(range(size))).all()


class Collectives(unittest.TestCase):
    pass


def _add(body):
    def test(_self):
        for size in SIZES:
            run(size, body)
    setattr(Collectives, "test_" + body.__name__, test)


for _body in (all_reduce_everything, reduce_everything, reduce_scatter_everything, scaled_sums, booleans_and_complex,
              move_everything, move_layouts, uneven, coalesced, objects, large,
              *([sparse] if DEVICE == "cpu" else [])):
    _add(_body)

if __name__ == "__main__":
    unittest.main(verbosity=2)
