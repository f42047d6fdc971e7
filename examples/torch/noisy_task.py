# SPDX-License-Identifier: Apache-2.0
"""The task that parameter_server.py learns: a vector, observed with noise that differs in every example and rank."""
import torch

RATE = 0.2
EXAMPLES = 4  # per batch
NOISE = 0.3


class Task:
    """One worker's view of the task."""

    def __init__(self, size, worker):
        self.truth = torch.linspace(-1, 1, size)
        self.random = torch.Generator().manual_seed(worker)

    def gradient(self, weights):
        """Returns the gradient of half the mean squared distance to the examples of a fresh batch."""
        examples = self.truth + NOISE * torch.randn(EXAMPLES, len(weights), generator=self.random)
        return weights - examples.mean(0)

    def error(self, weights):
        """Returns the distance to the truth relative to the initial distance."""
        return ((weights - self.truth).norm() / self.truth.norm()).item()
