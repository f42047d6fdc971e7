# SPDX-License-Identifier: Apache-2.0
"""Which ranks of a communicator waited for which, and how long its calls took."""
import math
import statistics
from collections import defaultdict

from event import end_of


class Times:
    """Their sum and median, in bounded memory: the median is within 1%."""

    def __init__(self):
        self.total, self.count, self.counts = 0, 0, defaultdict(int)

    def add(self, ns):
        self.total += ns
        self.count += 1
        self.counts[round(math.log(max(ns, 1)) * 100)] += 1

    def median(self):
        left = self.count / 2
        for at, count in sorted(self.counts.items()):
            left -= count
            if left <= 0:
                return round(math.exp(at / 100))
        return 0


class Collective:
    """All calls of one kind on a communicator."""

    def __init__(self):
        self.calls, self.incomplete, self.bytes, self.busy_ns = 0, 0, 0, 0
        self.times = Times()

    def as_json(self):
        return {"calls": self.calls, "incomplete": self.incomplete, "total_ns": self.times.total,
                "median_ns": self.times.median(), "bytes": self.bytes,
                "bytes_per_s": round(self.bytes * 1e9 / self.busy_ns) if self.busy_ns else None}


class Rank:
    """How long a rank waited for others, and they for it."""

    def __init__(self):
        self.time_ns, self.known_ns, self.waited_ns = 0, 0, 0  # known: of calls of which all ranks' parts are there
        self.last, self.late_ns, self.most_late_ns = 0, 0, 0

    def share(self):
        return self.waited_ns / self.known_ns if self.known_ns else None

    def as_json(self):
        return {"time_ns": self.time_ns, "waited_ns": self.waited_ns, "waited_share": self.share(), "last": self.last,
                "late_ns": self.late_ns, "most_late_ns": self.most_late_ns}


class Summary:
    def __init__(self, comm):
        self.name, self.size, self.transports = comm["communicator"], comm["size"], comm["transports"]
        self.collectives = defaultdict(Collective)
        self.ranks = defaultdict(Rank)
        self.messages = {"send": Times(), "recv": Times()}
        self.known = set()  # ranks of which there is a file

    def add_message(self, name, ns):
        self.messages["send" if name == "send" else "recv"].add(ns)

    def add_calls(self, group):
        collective = self.collectives[group[0][2]["name"]]
        is_complete = len(group) == self.size
        collective.calls += 1
        collective.incomplete += not is_complete
        last = group[-1][0]  # they are in order
        for begin, _, event in group:
            end = end_of(begin, event)
            collective.times.add(end - begin)
            rank = self.ranks[event["args"]["rank"]]
            rank.time_ns += end - begin
            if is_complete and event["args"]["state"] != "on stream":
                rank.known_ns += end - begin
                rank.waited_ns += max(0, min(end, last) - begin)
        if not is_complete:
            return
        if all(event["args"]["state"] == "done" for _, _, event in group):
            collective.bytes += max(event["args"]["bytes"] for _, _, event in group)
            collective.busy_ns += max(1, max(end_of(begin, event) for begin, _, event in group) - last)
        if self.size > 1:
            rank = self.ranks[group[-1][2]["args"]["rank"]]
            late_ns = round(last - statistics.median(begin for begin, _, _ in group[:-1]))
            rank.last += 1
            rank.late_ns += late_ns
            rank.most_late_ns = max(rank.most_late_ns, late_ns)

    def as_json(self, ident):
        return {"name": self.name, "id": ident, "size": self.size, "transports": self.transports,
                "collectives": {name: one.as_json() for name, one in sorted(self.collectives.items())},
                "messages": {name: {"calls": times.count, "total_ns": times.total, "median_ns": times.median()}
                             for name, times in self.messages.items()},
                "ranks": {rank: one.as_json() for rank, one in sorted(self.ranks.items())}}
