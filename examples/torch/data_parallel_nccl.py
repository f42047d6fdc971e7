# SPDX-License-Identifier: Apache-2.0
"""torch.nn.DataParallel: one process, one thread per GPU. It uses no torch.distributed backend but calls NCCL
directly: broadcast for the weights, reduce for the gradients. A libnccl.so.2 preloaded before PyTorch's own serves
it:

    LD_PRELOAD=/path/to/libnccl.so.2 python examples/torch/data_parallel_nccl.py

Needs CUDA and two GPUs; without them it says so and exits with 77.
"""
import sys

import torch
from torch import nn

STEPS, WIDTH, BATCH = 5, 64, 32


def make_model():
    torch.manual_seed(11)
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).cuda()


def train(model, parameters):
    optimizer, losses = torch.optim.SGD(parameters, lr=0.1), []
    torch.manual_seed(12)
    for _ in range(STEPS):
        data = torch.randn(BATCH, WIDTH).cuda()
        loss = (model(data) - data.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def library():
    """Returns the path of the libnccl that this process has loaded."""
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        found = sorted({line.split()[-1] for line in maps if "libnccl" in line})
    return ", ".join(found) or "none"


def main():
    if not torch.cuda.is_available() or torch.cuda.device_count() < 2:
        print(f"skipped: nn.DataParallel needs two GPUs, and CUDA shows {torch.cuda.device_count()}")
        sys.exit(77)
    one, several = make_model(), make_model()
    wanted = train(one, one.parameters())
    losses = train(nn.DataParallel(several), several.parameters())
    torch.testing.assert_close(losses, wanted, rtol=1e-4, atol=1e-6)
    print(f"{torch.cuda.device_count()} GPUs: loss {losses[0]:.6f} to {losses[-1]:.6f}, as on one; NCCL is {library()}")


if __name__ == "__main__":
    main()
