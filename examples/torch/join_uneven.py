# SPDX-License-Identifier: Apache-2.0
"""Ranks with different numbers of batches: with Join, ranks that have finished still take part in the others'
all-reduces.

    torchrun --nproc-per-node 3 examples/torch/join_uneven.py

Rank r has 4 + 2r batches. Without Join, the ranks with more batches would wait for ever (with Rondo: until the
deadline).
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

import start


def batches_of(rank):
    return 4 + 2 * rank


def main(options):
    rank = dist.get_rank()
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Linear(8, 1).to(options.device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(100 + rank)
    steps = 0
    with Join([model]):
        for _ in range(batches_of(rank)):
            data = torch.randn(16, 8, device=options.device)
            loss = (model(data) - data.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    # Every rank ends with the model of the rank that ran the most steps.
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    everyones = [torch.empty_like(weights) for _ in range(dist.get_world_size())]
    dist.all_gather(everyones, weights)
    assert all(torch.equal(weights, others) for others in everyones), "the models differ"
    counts = torch.zeros(dist.get_world_size(), dtype=torch.int64, device=options.device)
    counts[rank] = steps
    dist.all_reduce(counts)
    start.say(f"{counts.tolist()} steps, and one model on all {dist.get_world_size()} ranks")


if __name__ == "__main__":
    start.run(main, start.make_parser(__doc__))
