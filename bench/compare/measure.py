# SPDX-License-Identifier: Apache-2.0
"""Measures the contestants, round after round: in each round every contestant runs every sweep in one state of the
machine, and a different contestant goes first. Noisy sweeps get more rounds."""
import math
import sys

from contestant import Turn
from jobs import job_of, sweeps_of
from sheet import Sheet
from states import in_one_state, word

SLACK = 1.3  # for a round that takes longer than the previous ones


def measure(arguments, contestants, budget, probe):
    """In the first round every sweep gets a share of the budget; further rounds start only if there is time to complete
    them. Then rounds of single sweeps are added while their speeds are not known well enough."""
    sheet = Sheet(arguments)
    fewest, longest = arguments.rounds.fewest, 0
    while sheet.rounds == 0 or (sheet.rounds < fewest and budget.left() > SLACK * longest):
        began = budget.clock()
        make_round(sheet, contestants, budget, probe)
        longest = max(longest, budget.clock() - began)
    if sheet.rounds < fewest:
        print(f"there was time for {sheet.rounds} of {fewest} rounds", file=sys.stderr)
    else:
        add_rounds(sheet, contestants, budget, probe)
    return sheet


def make_round(sheet, contestants, budget, probe):
    arguments, number = sheet.arguments, sheet.rounds
    sweeps = sweeps_of(arguments)
    for place, sweep in enumerate(sweeps):
        print(f"round {number + 1} of {arguments.rounds}: {sweep}", file=sys.stderr)
        clock = Clock(budget, number == 0, len(sweeps) - place, len(contestants))
        if not make_turns(sheet, sweep, rotated(contestants, number), clock, probe) and not clock.is_share:
            return
        sheet.tries[sweep] += 1
    sheet.rounds += 1


def add_rounds(sheet, contestants, budget, probe):
    """Sweeps with noisy sizes take turns, until there are no more, or no rounds or no time left for them. A round
    covers all sizes up to the last noisy one, so that each is measured in the same circumstances as before."""
    names = [one.name for one in contestants]
    longest = dict.fromkeys(sweeps_of(sheet.arguments), 0)
    added = True
    while added:
        added = False
        for sweep in longest:
            noisy = sheet.noisy_sizes(sweep, names)
            if not noisy or sheet.tries[sweep] >= sheet.arguments.rounds.most:
                continue
            if budget.left() <= SLACK * longest[sweep]:
                print(f"{sweep}: there is no time for more rounds, {len(noisy)} sizes remain noisy", file=sys.stderr)
                continue
            print(f"round {sheet.tries[sweep] + 1}, {len(noisy)} sizes are noisy: {sweep}", file=sys.stderr)
            began, clock = budget.clock(), Clock(budget, False, 1, len(contestants))
            added |= make_turns(sheet, sweep, rotated(contestants, sheet.tries[sweep]), clock, probe, noisy[-1])
            sheet.tries[sweep] += 1
            longest[sweep] = max(longest[sweep], budget.clock() - began)


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


def make_turns(sheet, sweep, contestants, clock, probe, last=math.inf):
    """One turn of each contestant, of all sizes up to `last`. Returns False if there was no time for them."""
    able = {one.name: one for one in contestants if sheet.open_sizes(sweep, one.name)}
    if clock.is_over():
        print(f"{sweep}: there is no time left", file=sys.stderr)
        return False
    if not able:
        return True
    made = []
    state, turns, thrown_away = in_one_state(
        able, lambda name: take_turn(sheet, sweep, able[name], clock, last), probe,
        lambda: clock.is_over() or clock.since() > sheet.arguments.state_seconds,
        lambda name, turn, before, after: made.append((turn, sheet.note_turn(sweep, name, before, after))),
        lambda state: sheet.arguments.state in ("any", word(state)))
    sheet.thrown_away += thrown_away
    if clock.is_over() and not clock.is_share:
        return False
    if turns:
        sheet.add(sweep, state, turns)
        for turn, noted in made:
            noted["counts"] = any(turn is counted for counted in turns.values())
    else:
        print(f"{sweep}: the state of the machine changed in every turn or between them, or was another than --state",
              file=sys.stderr)
    return True


def rotated(contestants, turn):
    first = turn % len(contestants)
    return contestants[first:] + contestants[:first]


def take_turn(sheet, sweep, contestant, clock, last):
    sizes = [size for size in sheet.open_sizes(sweep, contestant.name) if size <= last]
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
