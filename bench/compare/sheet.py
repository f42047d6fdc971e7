# SPDX-License-Identifier: Apache-2.0
"""What has been measured so far, and what of it can be compared."""
import statistics
from collections import Counter, defaultdict

from intervals import interval, noise_percent, width_percent
from jobs import sizes_of, sweeps_of
from states import alike, figure, word


class Sheet:
    def __init__(self, arguments):
        self.arguments = arguments
        self.times = defaultdict(dict)  # (sweep, size, name) -> microseconds, by round
        self.states = {}  # (sweep, round) -> ns, see states.py
        self.thrown_away = 0  # turns
        self.faults = {}  # (sweep, name) -> (the first size that is excluded, why)
        self.rounds = 0  # completed, of all sweeps
        self.tries = Counter()  # rounds of a sweep, with those that came to nothing
        self.turns = []  # every turn that was made, and the state around it

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

    def note_turn(self, sweep, name, before, after):
        """Returns what the results say of the turn, which does not count yet."""
        self.turns.append({"transport": sweep.transport, "collective": sweep.collective, "ranks": sweep.ranks,
                           "round": self.tries[sweep], "contestant": name, "before_ns": figure(before),
                           "after_ns": figure(after),
                           "state": word(before) if alike(before, after) else "changed", "counts": False})
        return self.turns[-1]

    def add(self, sweep, state, turns):
        number = self.tries[sweep]
        self.states[sweep, number] = state
        for name, turn in turns.items():
            for size in sizes_of(sweep, self.arguments):
                if size not in turn.times_us:
                    break
                self.times[sweep, size, name][number] = turn.times_us[size]

    def rounds_alike(self, sweep, among=None):
        """The rounds in the most frequent state, of all or of `among`."""
        states = {number: state for (other, number), state in self.states.items()
                  if other == sweep and (among is None or number in among)}
        groups = [[number for number in states if alike(states[number], state)] for state in states.values()]
        return max(groups, key=len, default=[])

    def rounds_left_out(self):
        return len(self.states) - sum(len(self.rounds_alike(sweep)) for sweep in sweeps_of(self.arguments))

    def rows(self, names):
        return [self.row(sweep, size, names) for sweep in sweeps_of(self.arguments)
                for size in sizes_of(sweep, self.arguments)]

    def row(self, sweep, size, names):
        among = {number for name in names for number in self.times.get((sweep, size, name), {})}
        rounds = self.rounds_alike(sweep, among)
        own = {name: {number: us for number, us in self.times.get((sweep, size, name), {}).items()
                      if number in rounds}
               for name in names if size in self.open_sizes(sweep, name)}
        states = [self.states[sweep, number] for number in rounds]
        row = {"transport": sweep.transport, "collective": sweep.collective, "ranks": sweep.ranks, "bytes": size,
               "state": word(states[0]) if states else None, "handoff_ns": states,
               "contestants": {name: summary(list(times.values())) for name, times in own.items() if times}}
        return {**row, **comparison(own, row["contestants"], self.arguments.width)}

    def noisy_sizes(self, sweep, names):
        """The sizes whose speed is not known well enough, as long as more rounds can help."""
        rows = [self.row(sweep, size, names) for size in sizes_of(sweep, self.arguments)]
        return [row["bytes"] for row in rows
                if row["noisy"] is not False and self.may_have_speed(sweep, row["bytes"], names)]

    def may_have_speed(self, sweep, size, names):
        able = [name for name in names if size in self.open_sizes(sweep, name)]
        return "rondo" in able and len(able) > 1


def summary(rounds):
    return {"median_us": statistics.median(rounds), "least_us": min(rounds), "noise_percent": noise_percent(rounds),
            "rounds_us": rounds}


def comparison(times, contestants, width):
    """The speed beside the best peer and how well it is known; `times`: of each contestant, by round."""
    peers = [name for name in contestants if name != "rondo"]
    if not peers or "rondo" not in contestants:
        return {"best_peer": None, "speed": None, "interval": None, "width_percent": None, "noisy": None}
    best = min(peers, key=lambda name: contestants[name]["median_us"])
    ratios = [times[best][number] / us for number, us in times["rondo"].items() if number in times[best]]
    if not ratios:  # as if the peer had not run
        return comparison(times, {name: one for name, one in contestants.items() if name != best}, width)
    speed, ends = statistics.median(ratios), interval(ratios)
    wide = width_percent(speed, ends)
    return {"best_peer": best, "speed": speed, "interval": ends, "width_percent": wide,
            "noisy": None if wide is None else wide > width}


def speed_beside(row, peer):
    """The peer's time divided by Rondo's, None if either is missing."""
    if not {"rondo", peer} <= row["contestants"].keys():
        return None
    return row["contestants"][peer]["median_us"] / row["contestants"]["rondo"]["median_us"]
