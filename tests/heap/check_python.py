#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NumPy, and a training with PyTorch whose data comes from forked workers, with librondo-heap.so: results are those
without it, and they take no more memory. Skipped, with code 77, where they are not installed.

Usage: check_python.py LIBRONDO_HEAP PYTHON
"""
import os
import re
import subprocess
import sys

HEAP, PYTHON = os.path.abspath(sys.argv[1]), sys.argv[2]
NUMPY = """
import hashlib, resource
import numpy as np
random = np.random.default_rng(3)
seen, kept = hashlib.sha256(), []
for _ in range(60):
    a = random.standard_normal(int(random.integers(50_000, 1_500_000)))
    kept = [*kept[-7:], np.sort((np.sqrt(np.abs(a)) + a * 2 - a.mean())[:200_000])]
    square = a[:40_000].reshape(200, 200)
    seen.update(np.concatenate(kept).tobytes() + (square @ square).tobytes() + np.fft.rfft(a[:32_768]).tobytes())
"""
TORCH = """
import hashlib, resource, warnings
import torch
from torch.utils.data import DataLoader, TensorDataset
warnings.simplefilter("ignore")
torch.manual_seed(1)
torch.set_num_threads(1)
inputs = torch.randn(2000, 1000)
data = TensorDataset(inputs, inputs[:, :10].sum(1, keepdim=True))
model = torch.nn.Sequential(torch.nn.Linear(1000, 800), torch.nn.ReLU(), torch.nn.Linear(800, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
seen = hashlib.sha256()
for epoch in range(3):
    order = torch.Generator().manual_seed(epoch)
    for x, y in DataLoader(data, batch_size=200, num_workers=4, shuffle=True, generator=order):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        seen.update(repr(loss.item()).encode())
"""
END = "print(seen.hexdigest(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"


def run(script, preload):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RONDO_")}
    environment.update(LD_PRELOAD=preload, RONDO_LOG="info", OPENBLAS_NUM_THREADS="1")
    result = subprocess.run([PYTHON, "-c", script + END], capture_output=True, text=True, timeout=100, env=environment)
    if result.returncode != 0:
        sys.exit(f"exit code {result.returncode}: {result.stderr}")
    digest, resident = result.stdout.split()
    return digest, int(resident), re.findall(r"(\d+) large blocks", result.stderr)


def main():
    if subprocess.run([PYTHON, "-c", "import numpy, torch"], capture_output=True, check=False).returncode != 0:
        print(f"{PYTHON} has no NumPy or no PyTorch")
        sys.exit(77)
    for name, script in (("NumPy", NUMPY), ("PyTorch", TORCH)):
        digest, resident, _ = run(script, "")
        with_heap, resident_with, blocks = run(script, HEAP)
        print(f"{name}: {resident} KiB resident, with the heap {resident_with}; {blocks[-1:]} large blocks")
        if with_heap != digest:
            sys.exit(f"{name} has other results")
        if not blocks:
            sys.exit(f"{name} has no large blocks")
        if resident_with > 1.1 * resident:
            sys.exit(f"{name} takes more memory")


if __name__ == "__main__":
    main()
