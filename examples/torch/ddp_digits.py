# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on handwritten digits (8x8 pixels, from scikit-learn) with
DistributedDataParallel.

    torchrun --nproc-per-node 4 examples/torch/ddp_digits.py
    torchrun --nproc-per-node 2 examples/torch/ddp_digits.py --checkpoint digits.pt    run again to resume from it
    torchrun --nproc-per-node 2 examples/torch/ddp_digits.py --amp                     bfloat16 where it is safe

The global batch is the same for any number of ranks; each rank takes its share. The loss is therefore the same too,
up to rounding of sums in a different order; there is no batch normalisation, which would see only a rank's share.
Two runs on the same number of ranks give bitwise identical losses.
"""
import os

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

import start

TRAINED_ON = 1536  # of 1,797 digits; the rest are the test set
BATCH = 64  # of all ranks together


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 2 * 2, 10))


def load():
    """Returns (training set, test images, test labels)."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    return TensorDataset(images[:TRAINED_ON], labels[:TRAINED_ON]), images[TRAINED_ON:], labels[TRAINED_ON:]


def save(path, epoch, model, optimizer):
    """Writes the checkpoint on one rank, atomically."""
    if dist.get_rank() == 0:
        torch.save({"epoch": epoch, "model": model.module.state_dict(), "optimizer": optimizer.state_dict()},
                   path + ".new")
        os.replace(path + ".new", path)
    dist.barrier()


def resume(path, model, optimizer):
    """Returns the first epoch to run; every rank reads the file."""
    if not path or not os.path.exists(path):
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1


def train_epoch(model, optimizer, batches, options):
    """Returns the mean loss over all digits of all ranks."""
    total = torch.zeros((), dtype=torch.float64, device=options.device)
    for images, labels in batches:
        images, labels = images.to(options.device), labels.to(options.device)
        with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.amp):
            loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    return total.item() / (len(batches) * dist.get_world_size())


def main(options):
    if BATCH % dist.get_world_size() != 0:
        raise SystemExit(f"{dist.get_world_size()} ranks cannot share a batch of {BATCH} evenly")
    torch.manual_seed(0)  # DDP would broadcast rank 0's initial values anyway
    data, images, labels = load()
    sampler = DistributedSampler(data, shuffle=True, seed=0)
    batches = DataLoader(data, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    model = DistributedDataParallel(make_model().to(options.device))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    first = resume(options.checkpoint, model, optimizer)
    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, optimizer, batches, options)
        start.say(f"epoch {epoch}: loss {loss!r}")
        if options.checkpoint:
            save(options.checkpoint, epoch, model, optimizer)
    with torch.no_grad():
        right = (model.module(images.to(options.device)).argmax(1).cpu() == labels).float().mean().item()
    start.say(f"{dist.get_world_size()} ranks: {100 * right:.1f} % of the other digits are recognised")


if __name__ == "__main__":
    parser = start.make_parser(__doc__)
    parser.add_argument("--epochs", type=int, default=5, help="number of passes over all digits (5)")
    parser.add_argument("--checkpoint", metavar="FILE",
                        help="written after each epoch; training resumes from it if it exists")
    parser.add_argument("--amp", action="store_true", help="automatic mixed precision, with bfloat16")
    start.run(main, parser)
