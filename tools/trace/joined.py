# SPDX-License-Identifier: Apache-2.0
"""Joins the calls of ranks, and the two ends of messages, in the order of their begins."""
import heapq

MAX_PENDING = 200_000  # calls and messages of which an end is still to come


def joined(files, each=None):
    """Groups of (begin, file index, event) that belong together, complete or not; `each` sees every slice."""
    sizes = {ident: comm["size"] for file in files for (ident, _), comm in file.comms.items()}
    pending = {}
    for one in in_order(files):
        if each is not None:
            each(*one)
        key = join_key(one[2])
        if key is None:
            continue
        group = pending.setdefault(key, [])
        group.append(one)
        if len(group) == (sizes[key[0]] if is_call(key) else 2):
            yield key, pending.pop(key)
        elif len(pending) > MAX_PENDING:
            first = next(iter(pending))
            yield first, pending.pop(first)
    yield from pending.items()


def in_order(files):
    """All slices, with the index of their file."""
    def of(index):
        for begin, event in files[index].slices():
            yield begin, index, event
    return heapq.merge(*map(of, range(len(files))), key=lambda one: one[0])


def join_key(event):
    """The same for the calls, or the two ends of a message, that belong together; None: it is not known."""
    args = event["args"]
    if event["cat"] == "call":
        return args["id"], args["number"]
    if args["message"] <= 0 or args["peer"] < 0:
        return None
    ends = (args["rank"], args["peer"]) if event["name"] == "send" else (args["peer"], args["rank"])
    return (args["id"], *ends, args["message"])


def is_call(key):
    return len(key) == 2
