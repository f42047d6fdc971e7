# SPDX-License-Identifier: Apache-2.0
"""Two ranks that reduce long tensors, amid a DataLoader's forked workers and PyTorch's profiler of memory. Ends with an
exception if a result is wrong."""
import torch
import torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
from torch.utils.data import DataLoader, TensorDataset

import world

COUNT = 1 << 18


def reduced(rank, size, round):
    tensor = torch.arange(COUNT + round, dtype=torch.float64) + rank
    dist.all_reduce(tensor)
    expected = torch.arange(COUNT + round, dtype=torch.float64) * size + sum(range(size))
    assert torch.equal(tensor, expected)
    return tensor


def loads():
    data = torch.arange(400_000.0).reshape(100, 4000)
    batches = list(DataLoader(TensorDataset(data), batch_size=50, num_workers=2))
    assert torch.equal(torch.cat([batch for batch, in batches]), data)


def resizes():
    storage = torch.UntypedStorage(100)
    storage.fill_(7)
    storage.resize_(1 << 20)
    assert storage[99] == 7
    grown = torch.ones(10)
    grown.resize_(COUNT)
    assert grown[:10].sum() == 10
    assert torch.empty(0).data_ptr() == 0


def profiles():
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        one = torch.ones(COUNT)
        del one
    taken = [event for event in profiler.events() if event.name == "[memory]" or event.cpu_memory_usage]
    assert any(event.cpu_memory_usage >= 4 * COUNT for event in taken), "the profiler misses an allocation"


def body(rank, size):
    before = torch.ones(COUNT)
    kept = [reduced(rank, size, round) for round in range(10)]
    loads()
    kept += [reduced(rank, size, round) for round in range(10)]
    assert [int(tensor[1]) for tensor in kept] == [size + sum(range(size))] * 20
    resizes()
    profiles()
    dist.all_reduce(before)
    assert (before == size).all()


if __name__ == "__main__":
    world.run(2, body)
