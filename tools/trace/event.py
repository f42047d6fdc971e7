# SPDX-License-Identifier: Apache-2.0
"""What a line of a file (runtime/health/trace_text.h) must have."""
import json

from strangers import MAX_NUMBER, BadFile, printable

HEAD = {"format": str, "version": int, "host": str, "boot": str, "pid": int, "rank": int, "monotonic_ns": int,
        "wall_ns": int}
EVENT = {"name": str, "ph": str, "pid": int, "tid": int}
COMM = {"communicator": str, "id": str, "rank": int, "size": int, "transports": str}
ENDS = {"communicator": str, "id": str, "rank": int, "bytes": int, "state": str}
FIELDS = {"call": {**ENDS, "number": int, "call": str}, "message": {**ENDS, "message": int, "peer": int}}


def parsed(line):
    try:
        event = json.loads(line.rstrip(b","))
    except (ValueError, RecursionError):
        raise BadFile("this is not JSON") from None
    if not isinstance(event, dict):
        raise BadFile("this is not an object")
    return event


def check(value, fields, where):
    """Checks that a value is an object with all these fields. More are allowed: later versions may add some."""
    if not isinstance(value, dict):
        raise BadFile(f"{where} must be an object")
    for name, wanted in fields.items():
        if type(value.get(name)) is not wanted:  # pylint: disable=unidiomatic-typecheck
            raise BadFile(f"{where}.{name} must be {'a text' if wanted is str else 'a whole number'}")
        if wanted is int and not -1 <= value[name] <= MAX_NUMBER:
            raise BadFile(f"{where}.{name} must be from -1 to 2^64 - 1")


def check_head(event):
    """What the head of a file says."""
    if event.get("name") != "rondo-trace":
        raise BadFile("this is not the head of a trace of Rondo")
    head = event.get("args")
    check(head, HEAD, "args")
    if head["format"] != "rondo-trace" or head["version"] != 1:
        raise BadFile(f"the format is {head['format']!r}, version {head['version']}: it must be "
                      "'rondo-trace', version 1")
    return head


def check_comm(args):
    check(args, COMM, "args")
    if not 0 <= args["rank"] < args["size"]:
        raise BadFile(f"args.rank is {args['rank']}: it must be from 0 to args.size - 1")


def check_slice(event, comms, processes):
    """A call or a message, of a communicator and a process of these; returns its begin."""
    args = event.get("args")
    check(args, FIELDS[event["cat"]], "args")
    begin = ns_of(event, "ts")
    if ns_of(event, "dur") < 0:
        raise BadFile("dur must be at least 0")
    if (args["id"], args["rank"]) not in comms:
        raise BadFile(f"communicator {printable(args['id'])} has not been described")
    if event["pid"] not in processes:
        raise BadFile(f"process {event['pid']} has not been described")
    return begin


def ns_of(event, key):
    value = event.get(key)
    if type(value) not in (int, float) or not -1e15 <= value <= 1e15:  # pylint: disable=unidiomatic-typecheck
        raise BadFile(f"{key} must be a number of microseconds")
    return round(value * 1000)


def end_of(begin, event):
    return begin + round(event["dur"] * 1000)
