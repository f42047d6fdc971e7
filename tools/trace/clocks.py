# SPDX-License-Identifier: Apache-2.0
"""Aligns the clocks of hosts by the calls and messages between them."""
import math

from event import end_of
from joined import is_call, joined
from strangers import printable

# No rank can end such a call before the last one has begun it.
NEED_ALL = frozenset(("all_reduce", "barrier", "all_gather", "all_to_all", "reduce_scatter"))


class Clock:
    """A host's clock against that of the first host."""

    def __init__(self, host, shift, error, how):
        self.host, self.shift, self.error, self.how = host, shift, error, how

    def as_json(self):
        return {"host": self.host, "offset_ns": self.shift, "error_ns": self.error, "by": self.how}

    def text(self):
        if self.how == "reference":
            return f"{printable(self.host)}: the reference"
        if self.how == "wall clock":
            return f"{printable(self.host)}: by its wall clock only, no call or message tells"
        return (f"{printable(self.host)}: {-self.shift / 1000:+,.1f} us from the reference, corrected; known to within "
                f"{self.error / 1000:,.1f} us")


def align(files):
    """Shifts the files of each host to the clock of the first one. Their wall clocks are where it begins."""
    hosts = {}
    for file in files:
        head = hosts.setdefault(file.head["boot"], file.head)
        file.shift = head["wall_ns"] - head["monotonic_ns"]  # on one host, the monotonic clock is common
    found = {}
    if len(hosts) > 1:
        found = shifts_by_calls(files, hosts, {})
        if len(found) < len(hosts):
            found = {**shifts_by_calls(files, hosts, shifts_by_begin(files)), **found}
    clocks = []
    for boot, head in hosts.items():
        shift, error = found.get(boot, (0, None))
        if not clocks:
            clocks.append(Clock(head["host"], 0, 0, "reference"))
            continue
        clocks.append(Clock(head["host"], shift, error, "wall clock" if error is None else "calls and messages"))
        for file in files:
            if file.head["boot"] == boot:
                file.shift += shift
    return clocks


def shifts_by_calls(files, hosts, guess):
    """By host, the shift that calls and messages tell, and its error; guessed shifts let more of them be found."""
    def shift_all(sign):
        for file in files:
            file.shift += sign * guess.get(file.head["boot"], 0)
    shift_all(1)
    bounds = clock_bounds(files)
    shift_all(-1)
    start = next(iter(hosts))
    ahead = shortest(bounds, hosts, start, True)    # shift(start) - shift(host) is at most this
    behind = shortest(bounds, hosts, start, False)  # shift(host) - shift(start) is at most this
    return {boot: (guess.get(boot, 0) + (behind[boot] - ahead[boot]) // 2, abs(behind[boot] + ahead[boot]) // 2)
            for boot in hosts if boot in ahead and boot in behind}


def shifts_by_begin(files):
    """As if all hosts had begun together: where wall clocks are far apart, so are the ends of each call."""
    begins = {}
    for file in files:
        if file.begins:
            boot, begin = file.head["boot"], file.begins[0] + file.base()
            begins[boot] = min(begin, begins.get(boot, begin))
    first = begins.get(files[0].head["boot"], 0)
    return {boot: first - begin for boot, begin in begins.items()}


def clock_bounds(files):
    """bounds[a, b]: what host a's clock may be ahead of host b's at most: no arrival ends before its begin."""
    bounds = {}
    for key, group in joined(files):
        causes, effects = causes_and_effects(key, group)
        begins, ends = {}, {}
        for begin, index, _ in causes:
            host = files[index].head["boot"]
            begins[host] = max(begin, begins.get(host, begin))
        for begin, index, event in effects:
            host, end = files[index].head["boot"], end_of(begin, event)
            ends[host] = min(end, ends.get(host, end))
        for a, begin in begins.items():
            for b, end in ends.items():
                if a != b and end - begin < bounds.get((a, b), math.inf):
                    bounds[a, b] = end - begin
    return bounds


def causes_and_effects(key, group):
    """Slices that begin before others, the second ones, end."""
    if is_call(key):
        tells = all(event["name"] in NEED_ALL and event["args"]["state"] == "done" and
                    (event["name"] == "barrier" or event["args"]["bytes"] != 0) for _, _, event in group)
        return (group, group) if tells else ([], [])
    return ([one for one in group if one[2]["name"] == "send"],
            [one for one in group if one[2]["name"] == "recv" and one[2]["args"]["state"] == "done"])


def shortest(bounds, hosts, start, forward):
    """The tightest bounds between `start` and each host over any others; rounds are limited, for clocks that drift."""
    best = {start: 0}
    for _ in hosts:
        changed = False
        for (a, b), bound in bounds.items():
            near, far = (a, b) if forward else (b, a)
            if near in best and far != start and best[near] + bound < best.get(far, math.inf):
                best[far] = best[near] + bound
                changed = True
        if not changed:
            break
    return best
