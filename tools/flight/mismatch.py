# SPDX-License-Identifier: Apache-2.0
"""Calls that ranks made differently."""
from call_text import arguments_text
from ranks import ranks_text
from strangers import printable


def first_mismatch(members):
    """The number of the first, and lists of ranks by what they called; None: there is none. Members: in order."""
    by_number = {}
    for rank, member in members.items():
        for call in member.comm["calls"]:
            by_number.setdefault(call["number"], {})[rank] = call
    for number, calls in sorted(by_number.items()):
        varies = all(call["call"].endswith("_v") for call in calls.values())
        kinds = {}
        for rank, call in calls.items():
            kinds.setdefault(signature(call, varies), []).append(rank)
        if len(kinds) > 1:
            return number, [(ranks, calls[ranks[0]]) for ranks in kinds.values()]
    return None


def signature(call, varies):
    keys = ["call", "type", "op", "root", "on_gpu", "plan"] + ([] if varies else ["count", "bytes"])
    return tuple(call[key] for key in keys)


def mismatch_text(number, kinds):
    calls = [f"{printable(call['call'])}{arguments_text(call)}" for _, call in kinds]
    said = [f"{ranks_text(ranks)} called {call}" for (ranks, _), call in zip(kinds, calls)]
    if len(set(calls)) == 1:
        said.append("by different algorithms or settings")
    return f"ranks disagree about call {number:,}: " + "; ".join(said)
