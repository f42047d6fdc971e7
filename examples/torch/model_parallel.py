# SPDX-License-Identifier: Apache-2.0
"""Model parallelism by hand: a model too large for one rank is split by layers over all of them, and differentiable
sends and receives connect the parts.

    torchrun --nproc-per-node 3 examples/torch/model_parallel.py

The forward pass runs from rank 0 to the last rank, the backward pass in reverse. Only one rank works at a time;
pipeline_parallel.py overlaps them.
"""
import torch
import torch.distributed as dist
from torch import nn

import start

WIDTH, BATCH, STEPS = 16, 8, 5


class FromPrevious(torch.autograd.Function):
    """Receives activations; in the backward pass, sends their gradient to the rank they came from."""

    @staticmethod
    def forward(ctx, like):
        out = torch.empty_like(like)
        dist.recv(out, dist.get_rank() - 1)
        return out

    @staticmethod
    def backward(ctx, gradient):
        dist.send(gradient.contiguous(), dist.get_rank() - 1)
        return gradient


def receive_activations():
    return FromPrevious.apply(torch.zeros(BATCH, WIDTH, requires_grad=True))


def make_parts(count):
    torch.manual_seed(7)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(count)]


def step(part, optimizer, data, target):
    """Returns the loss on the last rank, None on the others."""
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    optimizer.zero_grad()
    out = part(data if rank == 0 else receive_activations())
    loss = None
    if rank == last:
        loss = (out - target).square().mean()
        loss.backward()
    else:
        dist.send(out.detach(), rank + 1)
        gradient = torch.empty_like(out)
        dist.recv(gradient, rank + 1)
        out.backward(gradient)
    optimizer.step()
    return None if loss is None else loss.item()


def whole_losses(parts, data, target):
    model = nn.Sequential(*parts)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = (model(data) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(options):
    n = dist.get_world_size()
    torch.set_default_device(options.device)
    torch.manual_seed(8)
    data = torch.randn(BATCH, WIDTH)
    target = torch.tanh(data.roll(1, 1))
    part = make_parts(n)[dist.get_rank()]
    optimizer = torch.optim.SGD(part.parameters(), lr=0.5)
    losses = [step(part, optimizer, data, target) for _ in range(STEPS)]
    wanted = whole_losses(make_parts(n), data, target)
    if dist.get_rank() == n - 1:
        torch.testing.assert_close(losses, wanted)
    found = [losses]
    dist.broadcast_object_list(found, src=n - 1)
    start.say(f"{n} parts: loss {found[0][0]:.6f} to {found[0][-1]:.6f}, as in one piece")


if __name__ == "__main__":
    start.run(main, start.make_parser(__doc__))
