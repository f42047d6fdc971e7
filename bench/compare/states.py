# SPDX-License-Identifier: Apache-2.0
"""The state of the machine: how long a cache line takes from one CPU to another. A hypervisor changes it when it moves
virtual CPUs, and all times change with it, so only measurements in the same state are compared."""
import math
import re

import processes
from contestant import Missing

SECONDS = 20
FIGURE = re.compile(r"^(\d+\.\d+) ns one way", re.M)
ALIKE = 1.5  # minimum ratio between two different states
FAR_NS = 120  # from there on CPUs are far from one another; rondo-perf's JSON has the same limit
BUSY = math.inf  # equal to no state, not even itself


def probe_by(perf):
    """Returns a function that returns the state in ns, BUSY, or None if there is only one CPU. It raises if the first
    probe fails, since probing is then impossible; a later failure must not end hours of measuring, and is BUSY."""
    has_worked = False

    def probe():
        nonlocal has_worked
        outcome = processes.run([perf, "--probe"], timeout=SECONDS)
        if outcome.fault and has_worked:
            return BUSY
        if outcome.fault:
            raise Missing(outcome.fault)
        has_worked = True
        found = FIGURE.search(outcome.printed)
        if found:
            return float(found[1])
        return None if "nothing to probe" in outcome.printed else BUSY
    return probe


def alike(one, other):
    if one is None or other is None:
        return one is other
    return math.inf > max(one, other) < ALIKE * min(one, other)


def word(state):
    """What a state is called; None if it is not known."""
    if state is None or state == BUSY:
        return None
    return "near" if state < FAR_NS else "far"


def figure(state):
    """A state for JSON, which has no infinity."""
    return None if state is None or state == BUSY else state


def in_one_state(names, take, probe, is_over, note=lambda name, turn, before, after: None,
                 is_wanted=lambda state: True):
    """Runs turns until each of `names` has had one in the same state as all others; a turn during which the state
    changed, or in one that is not wanted, counts for none. Returns the state, the turns by name, and the number of
    discarded turns; returns no turns if is_over() becomes true first. `note` is told of every turn."""
    found, made, before = [], 0, probe()
    while True:
        turns = turns_in(before, found)
        name = next(name for name in names if name not in turns)
        turn, after = take(name), probe()
        note(name, turn, before, after)
        made += 1
        if alike(before, after) and is_wanted(before):
            turns[name] = turn
        if len(turns) == len(names):
            return before, turns, made - len(names)
        if made > len(turns) and is_over():
            return None, {}, made
        before = after


def turns_in(state, found):
    """`found`: a list of states, each with its turns by name."""
    for known, turns in found:
        if alike(known, state):
            return turns
    found.append((state, {}))
    return found[-1][1]
