# SPDX-License-Identifier: Apache-2.0
"""What processes may say to rondo-ps, made up."""
import json
import os


def comm(rank, size, waits=True, **more):
    """What a process says of a communicator, in a call for 100 s."""
    call = {"number": 5, "call": "all_reduce", "count": 10, "bytes": 40, "type": "float32", "op": "sum", "root": None,
            "on_gpu": False, "algorithm": "ring", "plan": "0", "began_ns": 10**9, "ended_ns": None if waits else 10**9,
            "state": "running" if waits else "done"}
    return {"name": "dp", "id": "1-1", "rank": rank, "size": size, "session_rank": rank, "transports": "", "latest": 5,
            "activity": "in a call" if waits else "in no call", "waits_for": None, "messages": None, "ended": False,
            "failure": None, "total_calls": 5, "total_bytes": 200, "here": [], "calls": [call], **more}


def process(*comms, **more):
    return json.dumps({"format": "rondo-flight", "version": 1, "host": "a", "pid": os.getpid(), "rank": 0,
                       "reason": "request", "written_ns": 101 * 10**9, "omitted": 0, "communicators": comms,
                       **more}).encode()
