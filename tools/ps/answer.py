# SPDX-License-Identifier: Apache-2.0
"""What a process says of itself (runtime/health/include/health/flight_text.h), checked."""
from fields import check, has_type, shortened
from process_file import process_of
from strangers import BadFile

# What rondo-flight does not need in a file.
PROCESS = {"omitted": int}
COMM = {"total_calls": int, "total_bytes": int, "here": list}


def checked(data):
    """What a process said, as rondo-flight has it."""
    process = process_of(data)
    check(process, PROCESS, "the answer")
    if not has_type(process.get("cpu_ns", 0), int):
        raise BadFile(f"the answer.cpu_ns is {shortened(process['cpu_ns'])}: it must be a number")
    for i, comm in enumerate(process["communicators"]):
        where = f"communicators[{i}]"
        check(comm, COMM, where)
        check_runs(comm, where)
        for pair in comm["here"]:
            if not (isinstance(pair, list) and len(pair) == 2 and all(has_type(one, int) for one in pair)):
                raise BadFile(f"{where}.here has {shortened(pair)}: it must be a rank and a process id")
    return process


def check_runs(comm, where):
    """The session's ranks, in runs of equal steps; processes of earlier versions do not say them."""
    runs = comm.setdefault("session_ranks", None) or []
    if not (isinstance(runs, list) and all(isinstance(run, list) and len(run) == 3 and
                                           all(isinstance(one, int) for one in run) and run[1] and run[2] > 0
                                           for run in runs)):
        raise BadFile(f"{where}.session_ranks is {shortened(runs)}: it must be runs of ranks")


def session_of(ident):
    """The session, as ids of communicators have it."""
    return ident.partition("-")[0]


def absence_text(said):
    """Why a process says nothing of one of its ranks."""
    if said["omitted"]:
        return f"says nothing of {said['omitted']:,} of its communicators"
    return "has destroyed its communicator or not made it yet"
