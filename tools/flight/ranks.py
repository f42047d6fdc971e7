# SPDX-License-Identifier: Apache-2.0
"""Sets of ranks, and words for them."""
from itertools import chain


class OtherRanks:
    """The ranks of a communicator that are not among these, as ranges: there may be a million."""

    def __init__(self, ranks, size):
        bounds = [-1, *sorted(ranks), size]
        self.runs = [range(a + 1, b) for a, b in zip(bounds, bounds[1:]) if a + 1 < b]

    def __len__(self):
        return sum(map(len, self.runs))

    def __iter__(self):
        return chain(*self.runs)

    def __contains__(self, rank):
        return any(rank in run for run in self.runs)


def runs_of(ranks):
    if isinstance(ranks, OtherRanks):
        return ranks.runs
    runs = []
    for rank in sorted(ranks):
        begin = runs.pop().start if runs and rank == runs[-1].stop else rank
        runs.append(range(begin, rank + 1))
    return runs


def ranks_text(ranks):
    """'rank 3', 'ranks 0 to 2, 5'."""
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}{', ' if len(run) == 2 else ' to '}{run[-1]}"
             for run in runs_of(ranks)]
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(parts)
