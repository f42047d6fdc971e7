"""What parameter_server.py learns: a vector that every example shows with noise added, other noise on every rank."""
import torch

RATE = 0.2
EXAMPLES = 4  # of a batch
NOISE = 0.3


class Task:
    """One worker's view of it."""

    def __init__(self, size, worker):
        self.truth = torch.linspace(-1, 1, size)
        self.random = torch.Generator().manual_seed(worker)

    def gradient(self, weights):
        """Of half the mean square distance to the examples of a fresh batch."""
        examples = self.truth + NOISE * torch.randn(EXAMPLES, len(weights), generator=self.random)
        return weights - examples.mean(0)

    def error(self, weights):
        """Distance to the truth, as a part of what it was at the start."""
        return ((weights - self.truth).norm() / self.truth.norm()).item()
