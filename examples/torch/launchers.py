# SPDX-License-Identifier: Apache-2.0
"""Runs the same few DDP steps under every way of starting ranks that PyTorch has.

    torchrun --nproc-per-node 2 examples/torch/launchers.py
    python -m torch.distributed.launch --nproc-per-node 2 examples/torch/launchers.py
    python examples/torch/launchers.py --spawn 2
    for rank in 0 1; do
      python examples/torch/launchers.py --init-method tcp://127.0.0.1:29400 --rank $rank --world-size 2 &
    done; wait

start.py lists them all. All of them print the same line.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import start


def main(options):
    rank, n = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(rank)  # DDP gives every rank the weights of rank 0
    model = DistributedDataParallel(nn.Linear(4, 1).to(options.device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    data = torch.arange(n * 4.0).reshape(n, 4)[rank:rank + 1].to(options.device) / (4 * n)
    for _ in range(50):
        loss = (model(data) - data.sum()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    loss = loss.detach()
    dist.all_reduce(loss, op=dist.ReduceOp.AVG)
    start.say(f"{n} ranks, backend {dist.get_backend()}: mean loss {loss.item():.6f}")
    assert loss.item() < 0.05


if __name__ == "__main__":
    start.run(main, start.make_parser(__doc__))
