"""Takes times: round after round, each sweep by every contestant, another one first in every round."""
import statistics
import sys
from collections import defaultdict

from jobs import job_of, sizes_of, sweeps_of

SLACK = 1.3  # for a round that takes longer than those before it


class Sheet:
    """What was measured so far."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.times = defaultdict(list)  # (sweep, size, name) -> microseconds, by round
        self.faults = {}  # (sweep, name) -> (the first size that is left out, why)
        self.rounds = 0  # that were made

    def open_sizes(self, sweep, name):
        """A size at which a contestant has failed, and those above it, are not tried again."""
        sizes = sizes_of(sweep, self.arguments)
        if (sweep, name) in self.faults:
            sizes = sizes[:sizes.index(self.faults[sweep, name][0])]
        return sizes

    def add(self, sweep, name, sizes, turn, is_cut):
        """is_cut: whatever is missing is not the contestant's fault."""
        for size in sizes:
            if size not in turn.times_us and is_cut:
                break
            if size not in turn.times_us:
                self.faults[sweep, name] = size, turn.fault or "it printed no time for this size"
                break
            self.times[sweep, size, name].append(turn.times_us[size])

    def rows(self, names):
        return [self.row(sweep, size, names) for sweep in sweeps_of(self.arguments)
                for size in sizes_of(sweep, self.arguments)]

    def row(self, sweep, size, names):
        contestants = {name: summary(self.times[sweep, size, name]) for name in names
                       if size in self.open_sizes(sweep, name) and self.times[sweep, size, name]}
        row = {"transport": sweep.transport, "collective": sweep.collective, "ranks": sweep.ranks,
               "bytes": size, "contestants": contestants, "best_peer": None, "speed": None}
        peers = [name for name in contestants if name != "rondo"]
        if peers and "rondo" in contestants:
            row["best_peer"] = min(peers, key=lambda name: contestants[name]["median_us"])
            row["speed"] = speed_beside(row, row["best_peer"])
        return row


def summary(rounds):
    return {"median_us": statistics.median(rounds), "least_us": min(rounds), "rounds_us": rounds}


def speed_beside(row, peer):
    """The peer's time by Rondo's, None where one of them has none."""
    if not {"rondo", peer} <= row["contestants"].keys():
        return None
    return row["contestants"][peer]["median_us"] / row["contestants"]["rondo"]["median_us"]


def measure(arguments, contestants, budget):
    """Every contestant has a share of the budget in the first round; those that follow are begun if there is
    time for all of them."""
    sheet = Sheet(arguments)
    longest = 0
    while sheet.rounds == 0 or (sheet.rounds < arguments.rounds and budget.left() > SLACK * longest):
        began = budget.clock()
        make_round(sheet, contestants, budget)
        longest = max(longest, budget.clock() - began)
    if sheet.rounds < arguments.rounds:
        print(f"there was time for {sheet.rounds} of {arguments.rounds} rounds", file=sys.stderr)
    return sheet


def make_round(sheet, contestants, budget):
    arguments, number = sheet.arguments, sheet.rounds
    turns = [(sweep, one) for sweep in sweeps_of(arguments) for one in rotated(contestants, number)]
    for place, (sweep, contestant) in enumerate(turns):
        if place % len(contestants) == 0:
            print(f"round {number + 1} of {arguments.rounds}: {sweep}", file=sys.stderr)
        if number > 0 and budget.is_over():
            return
        seconds = budget.share(len(turns) - place) if number == 0 else budget.left()
        take_turn(sheet, sweep, contestant, min(arguments.timeout, seconds), budget)
    sheet.rounds += 1


def rotated(contestants, turn):
    first = turn % len(contestants)
    return contestants[first:] + contestants[:first]


def take_turn(sheet, sweep, contestant, seconds, budget):
    sizes = sheet.open_sizes(sweep, contestant.name)
    if not sizes:
        return
    turn = contestant.run(job_of(sweep, sizes, sheet.arguments, seconds))
    sheet.add(sweep, contestant.name, sizes, turn, is_cut=sheet.rounds > 0 and budget.is_over())
    size, fault = sheet.faults.get((sweep, contestant.name), (None, None))
    if size in sizes:
        print(f"{contestant.name} fails, {sweep}, from {size} bytes on:\n  {fault}", file=sys.stderr)
