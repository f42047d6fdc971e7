# SPDX-License-Identifier: Apache-2.0
"""Pipeline parallelism with torch.distributed.pipelining: each rank holds one stage; micro-batches keep all of them
busy.

    torchrun --nproc-per-node 4 examples/torch/pipeline_parallel.py
    torchrun --nproc-per-node 4 examples/torch/pipeline_parallel.py --schedule gpipe

Sends and receives pass activations to the next rank and gradients back. Losses and weights agree with the same model
on one rank.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import start

WIDTH, BATCH, MICRO_BATCHES, STEPS = 16, 32, 8, 5
SCHEDULES = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}


def make_stages(count, device):
    torch.manual_seed(5)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()).to(device) for _ in range(count)]


def loss_of(out, target):
    return (out - target).square().mean()


def sgd(module):
    return torch.optim.SGD(module.parameters(), lr=0.5)


def train_whole(stages, data, target):
    model = nn.Sequential(*stages)
    optimizer, losses = sgd(model), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def train_piped(stage, kind, data, target, options):
    """Returns the losses on the last rank, an empty list on the others."""
    rank, n = dist.get_rank(), dist.get_world_size()
    schedule = kind(PipelineStage(stage, rank, n, torch.device(options.device)), MICRO_BATCHES, loss_fn=loss_of)
    optimizer, losses = sgd(stage), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        of_micro_batches = []
        inputs = (data,) if rank == 0 else ()
        schedule.step(*inputs, **({"target": target, "losses": of_micro_batches} if rank == n - 1 else {}))
        optimizer.step()
        if rank == n - 1:
            losses.append(torch.stack(of_micro_batches).mean().item())
    return losses


def main(options):
    rank, n = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(6)
    data = torch.randn(BATCH, WIDTH, device=options.device)
    target = torch.tanh(data.roll(1, 1))
    whole, own = make_stages(n, options.device), make_stages(n, options.device)[rank]
    wanted = train_whole(whole, data, target)
    losses = train_piped(own, SCHEDULES[options.schedule], data, target, options)
    torch.testing.assert_close(list(own.parameters()), list(whole[rank].parameters()))
    if rank == n - 1:
        torch.testing.assert_close(losses, wanted, rtol=1e-5, atol=1e-6)
    found = [losses]
    dist.broadcast_object_list(found, src=n - 1)
    start.say(f"{options.schedule}, {n} stages, {MICRO_BATCHES} micro-batches: loss {found[0][0]:.6f} to "
              f"{found[0][-1]:.6f}, as on one rank")


if __name__ == "__main__":
    parser = start.make_parser(__doc__)
    parser.add_argument("--schedule", choices=SCHEDULES, default="1f1b", help="order of the micro-batches (1f1b)")
    start.run(main, parser)
