#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Rondo's collectives on host memory with those of MPI libraries, Gloo, DeepSpeed and vLLM, between
processes of one host.

All contestants are timed in the same way and take turns, round after round, so that other activity on the
machine affects all of them; the result is the median over the rounds. Peers that are not installed are skipped.

    bench/compare/compare.py --perf build/bench/perf/rondo-perf --json host.json --plot host.svg
"""
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))

import intervals  # noqa: E402
import machine  # noqa: E402
import options  # noqa: E402
import picture  # noqa: E402
import report  # noqa: E402
import rondo  # noqa: E402
import states  # noqa: E402
from budget import Budget  # noqa: E402
from contestant import Missing  # noqa: E402
from measure import measure  # noqa: E402
from peers import PEERS  # noqa: E402


@dataclass
class Workshop:
    """What the contestants are created from."""
    arguments: object
    folder: str  # for files of this run


@dataclass
class Beginning:
    """What was when the run began."""
    time: float
    load: float


def find_peers(workshop):
    found, missing = [], {}
    for name in workshop.arguments.peers:
        try:
            found.append(PEERS[name](workshop))
        except Missing as reason:
            missing[name] = str(reason)
            print(f"{name} is left out: {reason}", file=sys.stderr)
    return found, missing


def describe(arguments, contestants, missing, sheet, began):
    """Describes where and how the figures were measured."""
    return {"date": machine.date(), "command": machine.command(sys.argv), "host": machine.host(),
            "processor": machine.processor(), "cores": machine.cores(), "kernel": machine.kernel(),
            "governor": machine.governor(), "load_before": began.load, "load_after": machine.load(),
            "contestants": {one.name: one.version for one in contestants},
            "missing": {name: machine.without_folders(reason.splitlines()[0])
                        for name, reason in missing.items()},
            "type": arguments.type, "in_place": arguments.in_place, "fresh": arguments.fresh, "bind": arguments.bind,
            "rounds": str(arguments.rounds), "confidence_percent": 100 * intervals.CONFIDENCE,
            "width_percent": arguments.width, "state_seconds": arguments.state_seconds,
            "only_state": arguments.state,
            "turns_thrown_away": sheet.thrown_away, "rounds_left_out": sheet.rounds_left_out(),
            "seconds": round(time.monotonic() - began.time)}


def run(workshop):
    """Returns the exit code."""
    arguments = workshop.arguments
    budget, began = Budget(arguments.minutes), Beginning(time.monotonic(), machine.load())
    ours = rondo.find(workshop)
    found, missing = find_peers(workshop)
    if not found:
        sys.exit("compare: there is nothing to compare Rondo with")
    contestants = [ours, *found]
    names = [one.name for one in contestants]
    probe = states.probe_by(arguments.perf) if arguments.state_seconds > 0 else lambda: None
    sheet = measure(arguments, contestants, budget, probe)
    about = describe(arguments, contestants, missing, sheet, began)
    rows = sheet.rows(names)
    if arguments.json:
        report.write_json(arguments.json, about, rows, sheet.turns)
    if arguments.plot:
        picture.write(arguments.plot, about, rows)
    report.print_table(about, rows, names)
    report.print_faults(sheet.faults)
    worst = report.print_summary(rows, names)
    rondo_failed = any(name == ours.name for _, name in sheet.faults)
    return 1 if rondo_failed or worst is None or worst < arguments.least else 0


def main():
    arguments = options.parse(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # runs the clean-up, which ends the programs started here
    with tempfile.TemporaryDirectory() as folder:
        try:
            sys.exit(run(Workshop(arguments, folder)))
        except Missing as reason:
            sys.exit(f"compare: {reason}")


if __name__ == "__main__":
    main()
