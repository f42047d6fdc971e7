# SPDX-License-Identifier: Apache-2.0
"""FSDP2: weights, gradients and optimizer state are sharded over the ranks; a layer is complete only while it is in
use.

    torchrun --nproc-per-node 4 examples/torch/fsdp2.py
    torchrun --nproc-per-node 4 examples/torch/fsdp2.py --bf16     computes and communicates in bfloat16

Before a layer runs, its weights are all-gathered; after its backward pass, the averaged gradients are
reduce-scattered. In float32 the losses agree with the same model on one rank that sees all batches.
"""
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import start

WIDTH, LAYERS, BATCH, STEPS = 24, 3, 4, 5


def make_model(device):
    torch.manual_seed(9)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU()) for _ in range(LAYERS)]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1)).to(device)


def make_batches(n, device):
    """Returns, for every step, the concatenated batches of all ranks."""
    torch.manual_seed(10)
    data = [torch.randn(n * BATCH, WIDTH, device=device) for _ in range(STEPS)]
    return [(one, one.mean(1, keepdim=True)) for one in data]


def train(model, batches):
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=1e-2), []
    for data, target in batches:
        loss = (model(data) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().float())
    return torch.stack(losses)


def main(options):
    rank, n = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(options.device, (n,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16) if options.bf16 else MixedPrecisionPolicy()
    model = make_model(options.device)
    for layer in model:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    mine = sum(p.to_local().numel() for p in model.parameters())
    batches = make_batches(n, options.device)
    own = [(data[rank * BATCH:(rank + 1) * BATCH], target[rank * BATCH:(rank + 1) * BATCH]) for data, target in batches]
    losses = train(model, own)
    dist.all_reduce(losses, op=dist.ReduceOp.AVG)
    whole = make_model(options.device)
    wanted = train(whole, batches)
    tolerance = {"rtol": 0.1, "atol": 0.05} if options.bf16 else {"rtol": 1e-4, "atol": 1e-6}
    torch.testing.assert_close(losses, wanted, **tolerance)
    if not options.bf16:
        for one, other in zip(whole.parameters(), model.parameters()):
            torch.testing.assert_close(other.full_tensor(), one, rtol=1e-3, atol=1e-4)
    start.say(f"{n} ranks, {mine} of {sum(p.numel() for p in whole.parameters())} weights on rank 0: loss "
              f"{losses[0]:.6f} to {losses[-1]:.6f}, as on one rank")


if __name__ == "__main__":
    parser = start.make_parser(__doc__)
    parser.add_argument("--bf16", action="store_true", help="mixed precision with bfloat16")
    start.run(main, parser)
