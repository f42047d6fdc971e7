# SPDX-License-Identifier: Apache-2.0
"""Shows every collective of torch.distributed with its result, on numbers small enough to check by eye.

    torchrun --nproc-per-node 3 examples/torch/collectives.py

Rank r starts with the numbers 10r, 10r + 1, ... The script prints what each rank holds afterwards, and checks it.
"""
from datetime import timedelta

import torch
import torch.distributed as dist

import start

ROWS = []


def shows(function):
    """Registers a function that returns (what this rank holds, what each rank must hold, by rank)."""
    ROWS.append(function)
    return function


def block(rank, first=0, count=2):
    return [float(10 * rank + first + i) for i in range(count)]


def tensor(values):
    return torch.tensor(values)


def reduced(n, combine, count=2):
    return [combine([block(rank, 0, count)[i] for rank in range(n)]) for i in range(count)]


def product(values):
    return torch.tensor(values).prod().item()


@shows
def broadcast(rank, n):
    data = tensor(block(rank))
    dist.broadcast(data, src=n - 1)
    return data, [block(n - 1)] * n


@shows
def all_reduce_sum(rank, n):
    data = tensor(block(rank))
    dist.all_reduce(data)
    return data, [reduced(n, sum)] * n


@shows
def all_reduce_avg(rank, n):
    data = tensor(block(rank))
    dist.all_reduce(data, op=dist.ReduceOp.AVG)
    return data, [reduced(n, lambda values: sum(values) / n)] * n


@shows
def all_reduce_max(rank, n):
    data = tensor(block(rank))
    dist.all_reduce(data, op=dist.ReduceOp.MAX)
    return data, [reduced(n, max)] * n


@shows
def all_reduce_product(rank, n):
    data = tensor(block(rank))
    dist.all_reduce(data, op=dist.ReduceOp.PRODUCT)
    return data, [reduced(n, product)] * n


@shows
def all_reduce_bor(rank, n):
    data = torch.tensor([1 << rank])
    dist.all_reduce(data, op=dist.ReduceOp.BOR)
    return data, [[(1 << n) - 1]] * n


@shows
def all_reduce_async(rank, n):
    data = tensor(block(rank))
    work = dist.all_reduce(data, async_op=True)
    work.wait()  # a real program would compute something else first
    return data, [reduced(n, sum)] * n


@shows
def reduce(rank, n):
    data = tensor(block(rank))
    dist.reduce(data, dst=0)
    return data if rank == 0 else tensor([]), [reduced(n, sum)] + [[]] * (n - 1)


@shows
def all_gather(rank, n):
    parts = [torch.empty(2) for _ in range(n)]
    dist.all_gather(parts, tensor(block(rank)))
    return torch.cat(parts), [sum((block(other) for other in range(n)), [])] * n


@shows
def all_gather_into_tensor(rank, n):
    data = torch.empty(2 * n)
    dist.all_gather_into_tensor(data, tensor(block(rank)))
    return data, [sum((block(other) for other in range(n)), [])] * n


@shows
def reduce_scatter(rank, n):
    data = torch.empty(2)
    dist.reduce_scatter(data, [tensor(block(rank, 2 * other)) for other in range(n)])
    return data, [reduced(n, sum, 2 * n)[2 * other:2 * other + 2] for other in range(n)]


@shows
def reduce_scatter_tensor(rank, n):
    data = torch.empty(2)
    dist.reduce_scatter_tensor(data, tensor(block(rank, 0, 2 * n)))
    return data, [reduced(n, sum, 2 * n)[2 * other:2 * other + 2] for other in range(n)]


@shows
def all_to_all(rank, n):
    parts = [torch.empty(1) for _ in range(n)]
    dist.all_to_all(parts, list(tensor(block(rank, 0, n)).split(1)))
    return torch.cat(parts), [[block(sender, 0, n)[mine] for sender in range(n)] for mine in range(n)]


@shows
def all_to_all_single(rank, n):
    data = torch.empty(n)
    dist.all_to_all_single(data, tensor(block(rank, 0, n)))
    return data, [[block(sender, 0, n)[mine] for sender in range(n)] for mine in range(n)]


@shows
def all_to_all_uneven(rank, n):
    """Rank r receives r + 1 numbers from each rank."""
    lengths = [other + 1 for other in range(n)]
    data = torch.empty((rank + 1) * n)
    dist.all_to_all_single(data, tensor(block(rank, 0, sum(lengths))), [rank + 1] * n, lengths)
    first = [sum(lengths[:mine]) for mine in range(n)]
    return data, [sum((block(sender, first[mine], mine + 1) for sender in range(n)), []) for mine in range(n)]


@shows
def gather(rank, n):
    parts = [torch.empty(2) for _ in range(n)] if rank == 0 else None
    dist.gather(tensor(block(rank)), parts, dst=0)
    held = torch.cat(parts) if rank == 0 else tensor([])
    return held, [sum((block(other) for other in range(n)), [])] + [[]] * (n - 1)


@shows
def scatter(rank, n):
    data = torch.empty(2)
    dist.scatter(data, [tensor(block(other)) for other in range(n)] if rank == 0 else None, src=0)
    return data, [block(other) for other in range(n)]


@shows
def send_and_recv(rank, n):
    """Around the ring, with both operations in flight at once."""
    data = torch.empty(2)
    works = [dist.isend(tensor(block(rank)), (rank + 1) % n), dist.irecv(data, (rank - 1) % n)]
    for work in works:
        work.wait()
    return data, [block((other - 1) % n) for other in range(n)]


@shows
def batch_isend_irecv(rank, n):
    data = torch.empty(2)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, tensor(block(rank)), (rank + 1) % n),
                                        dist.P2POp(dist.irecv, data, (rank - 1) % n)]):
        work.wait()
    return data, [block((other - 1) % n) for other in range(n)]


@shows
def all_gather_object(rank, n):
    found = [None] * n
    dist.all_gather_object(found, {"rank": rank})
    return tensor([float(one["rank"]) for one in found]), [[float(other) for other in range(n)]] * n


@shows
def broadcast_object_list(rank, n):
    found = [f"from {rank}", rank]
    dist.broadcast_object_list(found, src=n - 1)
    assert found[0] == f"from {n - 1}"
    return tensor([float(found[1])]), [[float(n - 1)]] * n


@shows
def of_a_group(rank, n):
    """All-reduce among the first ranks only."""
    members = list(range(max(1, n - 1)))
    group = dist.new_group(members)
    data = tensor(block(rank))
    if rank in members:
        dist.all_reduce(data, group=group)
    return data, [reduced(len(members), sum) if other in members else block(other) for other in range(n)]


@shows
def barrier(rank, n):
    dist.barrier()
    return tensor([]), [[]] * n


@shows
def monitored_barrier(rank, n):
    """Names the ranks that do not arrive in time. Since PyTorch 2.14 it is also dist.monitored_barrier()."""
    dist.group.WORLD.monitored_barrier(timeout=timedelta(seconds=30))
    return tensor([]), [[]] * n


def short(values):
    return "[" + " ".join(f"{value:g}" for value in values) + "]"


def show(function, rank, n):
    """Prints a row of the table, collected with all_gather_object."""
    held, wanted = function(rank, n)
    everyones = [None] * n
    dist.all_gather_object(everyones, held.tolist())
    start.say(f"{function.__name__:24}" + "  ".join(f"{short(values):20}" for values in everyones).rstrip())
    assert held.tolist() == wanted[rank], f"{function.__name__}: rank {rank} has {held.tolist()}, not {wanted[rank]}"


def main(options):
    rank, n = dist.get_rank(), dist.get_world_size()
    torch.set_default_device(options.device)
    start.say(f"{'':24}" + "  ".join(f"{f'rank {other}':20}" for other in range(n)).rstrip())
    for function in ROWS:
        show(function, rank, n)
    start.say(f"{len(ROWS)} collectives, all as they must be")


if __name__ == "__main__":
    start.run(main, start.make_parser(__doc__))
