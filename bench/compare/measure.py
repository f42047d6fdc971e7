# SPDX-License-Identifier: Apache-2.0
"""Measures the contestants, round after round: in each round every contestant runs every sweep in one state of the
machine, and a different contestant goes first."""
import math
import statistics
import sys
from collections import defaultdict

from contestant import Turn
from jobs import job_of, sizes_of, sweeps_of
from states import alike, in_one_state

SLACK = 1.3  # for a round that takes longer than the previous ones


class Sheet:
    """The measurements so far."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.times = defaultdict(dict)  # (sweep, size, name) -> microseconds, by round
        self.states = {}  # (sweep, round) -> ns, see states.py
        self.thrown_away = 0  # turns
        self.faults = {}  # (sweep, name) -> (the first size that is excluded, why)
        self.rounds = 0  # completed

    def open_sizes(self, sweep, name):
        """The sizes still to be measured: a size at which a contestant has failed, and those above, are not retried."""
        sizes = sizes_of(sweep, self.arguments)
        if (sweep, name) in self.faults:
            sizes = sizes[:sizes.index(self.faults[sweep, name][0])]
        return sizes

    def note_fault(self, sweep, name, sizes, turn):
        missing = [size for size in sizes if size not in turn.times_us]
        if missing:
            self.faults[sweep, name] = missing[0], turn.fault or "it printed no time for this size"

    def add(self, sweep, state, turns):
        self.states[sweep, self.rounds] = state
        for name, turn in turns.items():
            for size in sizes_of(sweep, self.arguments):
                if size not in turn.times_us:
                    break
                self.times[sweep, size, name][self.rounds] = turn.times_us[size]

    def rounds_alike(self, sweep):
        """The rounds in the most frequent state."""
        states = {number: state for (other, number), state in self.states.items() if other == sweep}
        groups = [[number for number in states if alike(states[number], state)] for state in states.values()]
        return max(groups, key=len, default=[])

    def rounds_left_out(self):
        return len(self.states) - sum(len(self.rounds_alike(sweep)) for sweep in sweeps_of(self.arguments))

    def rows(self, names):
        return [self.row(sweep, size, names) for sweep in sweeps_of(self.arguments)
                for size in sizes_of(sweep, self.arguments)]

    def row(self, sweep, size, names):
        rounds = self.rounds_alike(sweep)
        own = {name: [us for number, us in self.times[sweep, size, name].items() if number in rounds]
               for name in names if size in self.open_sizes(sweep, name)}
        contestants = {name: summary(times) for name, times in own.items() if times}
        row = {"transport": sweep.transport, "collective": sweep.collective, "ranks": sweep.ranks,
               "bytes": size, "handoff_ns": [self.states[sweep, number] for number in rounds],
               "contestants": contestants, "best_peer": None, "speed": None}
        peers = [name for name in contestants if name != "rondo"]
        if peers and "rondo" in contestants:
            row["best_peer"] = min(peers, key=lambda name: contestants[name]["median_us"])
            row["speed"] = speed_beside(row, row["best_peer"])
        return row


def summary(rounds):
    return {"median_us": statistics.median(rounds), "least_us": min(rounds), "rounds_us": rounds}


def speed_beside(row, peer):
    """The peer's time divided by Rondo's, None if either is missing."""
    if not {"rondo", peer} <= row["contestants"].keys():
        return None
    return row["contestants"][peer]["median_us"] / row["contestants"]["rondo"]["median_us"]


def measure(arguments, contestants, budget, probe):
    """In the first round every sweep gets a share of the budget; further rounds start only if there is time to complete
    them."""
    sheet = Sheet(arguments)
    longest = 0
    while sheet.rounds == 0 or (sheet.rounds < arguments.rounds and budget.left() > SLACK * longest):
        began = budget.clock()
        make_round(sheet, contestants, budget, probe)
        longest = max(longest, budget.clock() - began)
    if sheet.rounds < arguments.rounds:
        print(f"there was time for {sheet.rounds} of {arguments.rounds} rounds", file=sys.stderr)
    return sheet


def make_round(sheet, contestants, budget, probe):
    arguments, number = sheet.arguments, sheet.rounds
    sweeps = sweeps_of(arguments)
    for place, sweep in enumerate(sweeps):
        print(f"round {number + 1} of {arguments.rounds}: {sweep}", file=sys.stderr)
        clock = Clock(budget, number == 0, len(sweeps) - place, len(contestants))
        if not make_turns(sheet, sweep, rotated(contestants, number), clock, probe) and not clock.is_share:
            return
    sheet.rounds += 1


class Clock:
    """The time limit of one sweep's turns in one round: a share of the remaining budget, and for each turn a share of
    that; or all that remains."""

    def __init__(self, budget, is_share, sweeps_left, turns):
        self.now, self.is_share = budget.clock, is_share
        self.began = self.now()
        seconds = budget.share(sweeps_left) if is_share else budget.left()
        self.end = self.began + seconds
        self.share = seconds / turns if is_share else math.inf

    def seconds(self):
        """The time limit of the next turn."""
        return min(self.share, max(0.0, self.end - self.now()))

    def is_over(self):
        return self.now() >= self.end

    def cuts(self, seconds):
        """Whether a turn that was given `seconds` may have run out of time."""
        return seconds < self.share and self.is_over()

    def since(self):
        return self.now() - self.began


def make_turns(sheet, sweep, contestants, clock, probe):
    """Returns False if there was no time for them."""
    able = {one.name: one for one in contestants if sheet.open_sizes(sweep, one.name)}
    if clock.is_over():
        print(f"{sweep}: there is no time left", file=sys.stderr)
        return False
    if not able:
        return True
    state, turns, thrown_away = in_one_state(
        able, lambda name: take_turn(sheet, sweep, able[name], clock), probe,
        lambda: clock.is_over() or clock.since() > sheet.arguments.state_seconds)
    sheet.thrown_away += thrown_away
    if clock.is_over() and not clock.is_share:
        return False
    if turns:
        sheet.add(sweep, state, turns)
    else:
        print(f"{sweep}: the state of the machine changed in every turn or between them", file=sys.stderr)
    return True


def rotated(contestants, turn):
    first = turn % len(contestants)
    return contestants[first:] + contestants[:first]


def take_turn(sheet, sweep, contestant, clock):
    sizes = sheet.open_sizes(sweep, contestant.name)
    seconds = clock.seconds()
    if not sizes or seconds == 0:
        return Turn()
    turn = contestant.run(job_of(sweep, sizes, sheet.arguments, min(sheet.arguments.timeout, seconds)))
    if not clock.cuts(seconds):
        sheet.note_fault(sweep, contestant.name, sizes, turn)
    elif turn.fault:
        print(f"{contestant.name} ran out of time in its turn, {sweep}", file=sys.stderr)
    size, fault = sheet.faults.get((sweep, contestant.name), (None, None))
    if size in sizes:
        print(f"{contestant.name} fails, {sweep}, from {size} bytes on:\n  {fault}", file=sys.stderr)
    return turn
