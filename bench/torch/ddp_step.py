# SPDX-License-Identifier: Apache-2.0
"""A DistributedDataParallel step on a small transformer: forward, backward with its all-reduces, SGD."""
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, HEADS, WORDS, BATCH, LENGTH = 192, 3, 4, 512, 4, 32


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True)
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.TransformerEncoder(layer, LAYERS)
        self.decode = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.decode(self.layers(self.embed(words)))


class Step:
    """Has the interface of a Case; creates one model for each group."""

    def __init__(self, device, rank):
        self.device = device
        torch.manual_seed(rank)
        self.words = torch.randint(WORDS, (BATCH, LENGTH), device=device)
        self.models = {}
        self.bytes = sum(p.nbytes for p in Transformer().parameters())

    def model(self, group):
        if group not in self.models:
            torch.manual_seed(0)
            model = DistributedDataParallel(Transformer().to(self.device), process_group=group)
            self.models[group] = model, torch.optim.SGD(model.parameters(), lr=1e-3)
        return self.models[group]

    def call(self, group):
        model, optimizer = self.model(group)
        loss = nn.functional.cross_entropy(model(self.words).flatten(0, 1), self.words.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    def wrong(self, group):
        """The loss of a step must be a number."""
        loss = self.call(group)
        return loss != loss
