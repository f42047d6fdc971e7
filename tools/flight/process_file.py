# SPDX-License-Identifier: Apache-2.0
"""What a process writes of its calls and threads (runtime/health/include/health/flight_text.h), checked."""
from fields import check
from strangers import BadFile
from strict_json import parsed

MAX_BYTES = 64 << 20
MAX_RANKS = 1_000_000
ACTIVITIES = ("in a call", "in messages", "in no call", "finalizing", "finalized")
STATES = ("running", "failed", "done", "on stream", "refused")

PROCESS = {"format": ("rondo-flight",), "version": (1,), "host": str, "pid": int, "rank": int,
           "reason": ("failure", "request"), "written_ns": int, "communicators": list}
COMM = {"name": str, "id": str, "rank": int, "size": int, "session_rank": int, "transports": str, "latest": int,
        "activity": ACTIVITIES, "waits_for": [int], "messages": [str], "ended": bool, "failure": [dict], "calls": list}
FAILURE = {"status": str, "text": str}
CALL = {"number": int, "call": str, "count": int, "bytes": int, "type": [str], "op": [str], "root": [int],
        "on_gpu": bool, "algorithm": str, "plan": str, "began_ns": int, "ended_ns": [int], "state": STATES}
# Files of earlier versions have no threads, and no thread in a communicator.
THREAD = {"thread": int, "name": str, "runs": bool, "place": str, "python": list, "native": list}
PYTHON_FRAME = {"file": str, "line": int, "function": str}
NATIVE_FRAME = {"function": [str], "module": [str], "offset": int, "build_id": [str]}


def check_process(process):
    check(process, PROCESS, "the file")
    check_threads(process)
    for i, comm in enumerate(process["communicators"]):
        where = f"communicators[{i}]"
        check(comm, COMM, where)
        if comm["size"] > MAX_RANKS:
            raise BadFile(f"{where}.size is {comm['size']}: it must be at most {MAX_RANKS}")
        if not 0 <= comm["rank"] < comm["size"]:
            raise BadFile(f"{where}.rank is {comm['rank']}: it must be from 0 to {comm['size'] - 1}")
        if comm["failure"] is not None:
            check(comm["failure"], FAILURE, where + ".failure")
        for j, call in enumerate(comm["calls"]):
            check(call, CALL, f"{where}.calls[{j}]")
            if call["number"] > comm["latest"] or (j > 0 and call["number"] <= comm["calls"][j - 1]["number"]):
                raise BadFile(f"{where}.calls[{j}].number is {call['number']}: calls must be in order, up to the "
                              f"latest, {comm['latest']}")


def check_threads(process):
    check({"threads_note": None, "threads": [], **process}, {"threads_note": [str], "threads": list}, "the file")
    for i, thread in enumerate(process.get("threads", [])):
        where = f"threads[{i}]"
        check(thread, THREAD, where)
        for kind, fields in (("python", PYTHON_FRAME), ("native", NATIVE_FRAME)):
            for j, frame in enumerate(thread[kind]):
                check(frame, fields, f"{where}.{kind}[{j}]")


def process_of(data):
    """What a process wrote: bytes of JSON, checked."""
    process = parsed(data)
    try:
        check_process(process)
    except RecursionError:  # parsed, but too deep to be quoted
        raise BadFile("this is not a file of Rondo: its values are nested too deeply") from None
    return process


def read(path):
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadFile(error.strerror) from None
    if not data:
        raise BadFile("the file is empty")
    if len(data) > MAX_BYTES:
        raise BadFile(f"the file has more than {MAX_BYTES >> 20} MiB, as no file of Rondo has")
    return process_of(data)
