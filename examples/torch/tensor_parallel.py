# SPDX-License-Identifier: Apache-2.0
"""Tensor parallelism with DTensor: two layers of a transformer block, sharded over the ranks by columns, then by rows.

    torchrun --nproc-per-node 4 examples/torch/tensor_parallel.py

Each rank holds 1/N of the weights. The first layer needs nothing from other ranks, the second ends with an
all-reduce; in the backward pass the all-reduce is at the other end. Forward, backward and one step of SGD agree with
the unsharded model.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import start

WIDTH, HIDDEN, BATCH = 32, 64, 8


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN)
        self.down = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def make_model(device):
    torch.manual_seed(3)
    return FeedForward().to(device)


def step(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = (model(data) - data).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def redistribute(mesh):
    """Reshards a matrix from rows to columns and back to a whole one: all-to-all and all-gather."""
    whole = torch.arange(16.0 * mesh.size() ** 2, device=mesh.device_type).reshape(4 * mesh.size(), 4 * mesh.size())
    rows = distribute_tensor(whole, mesh, [Shard(0)])
    columns = rows.redistribute(mesh, [Shard(1)])
    assert torch.equal(columns.to_local(), whole.chunk(mesh.size(), 1)[dist.get_rank()])
    assert torch.equal(columns.redistribute(mesh, [Replicate()]).to_local(), whole)


def main(options):
    mesh = init_device_mesh(options.device, (dist.get_world_size(),))
    torch.manual_seed(4)
    data = torch.randn(BATCH, WIDTH, device=options.device)
    whole = make_model(options.device)
    cut = parallelize_module(make_model(options.device), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    mine = sum(p.to_local().numel() for p in cut.parameters())
    start.say(f"{mine} of {sum(p.numel() for p in whole.parameters())} weights on a rank")
    for number in range(3):
        want, have = step(whole, data), step(cut, data)
        start.say(f"step {number}: loss {have:.6f}, of the whole model {want:.6f}")
        assert abs(have - want) < 1e-5
    for (name, one), other in zip(whole.named_parameters(), cut.parameters()):
        torch.testing.assert_close(other.full_tensor(), one, msg=f"{name} differs")
    redistribute(mesh)
    start.say("the cut model and the whole one agree")


if __name__ == "__main__":
    start.run(main, start.make_parser(__doc__))
