# SPDX-License-Identifier: Apache-2.0
"""Rondo as a contestant, through rondo-perf."""
import contextlib
import itertools
import json
import os
import sys
import time

import processes
from contestant import Contestant, Missing, Turn
from jobs import NOT_IN_PLACE, WINDOW

LAUNCHER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ranks.py")
VERSION_SECONDS = 20
CALLS = {"ping_pong": ["send_recv", "--ping_pong"], "one_way": ["send_recv", "--one_way", "-m", str(WINDOW)],
         "both_ways": ["send_recv", "-m", str(WINDOW)]}


def find(workshop):
    return contestant("rondo", workshop.arguments.perf, workshop)


def find_other(name, workshop):
    if workshop.arguments.other_perf is None:
        raise Missing("--other-perf names no rondo-perf of another build")
    return contestant(name, workshop.arguments.other_perf, workshop)


def contestant(name, perf, workshop):
    outcome = processes.run([perf, "--version"], timeout=VERSION_SECONDS)
    if outcome.fault:
        raise Missing(outcome.fault)
    return Contestant(name, outcome.printed.strip(), lambda job: run(perf, job, workshop))


def run(perf, job, workshop):
    """Runs rondo-perf once for each number of iterations, since it uses the same number for all sizes."""
    turn, end = Turn(), time.monotonic() + job.timeout
    for _, steps in itertools.groupby(job.steps, lambda step: step.iterations):
        times_us, turn.fault = run_part(perf, job, list(steps), workshop, max(0, end - time.monotonic()))
        turn.times_us.update(times_us)
        if turn.fault:
            break
    return turn


def run_part(perf, job, steps, workshop, timeout):
    path = os.path.join(workshop.folder, "rows.json")
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)  # of the turn before
    command = [sys.executable, LAUNCHER, job.bind, str(job.sweep.ranks),
               *perf_command(perf, job, steps, workshop.arguments), "--json", path]
    outcome = processes.run(command, timeout=timeout)
    if outcome.fault:
        return {}, outcome.fault
    if not os.path.exists(path):
        return {}, f"{perf} wrote no rows"
    try:
        # The size in a row is rounded down to whole blocks.
        return {step.bytes: row[place(job) + "_us"] for step, row in zip(steps, rows_of(path))}, None
    except (ValueError, TypeError) as error:
        return {}, f"{perf} wrote no rows but something else: {error}"
    except KeyError as error:
        return {}, f"{perf} wrote rows without the field {error}"


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    return document if isinstance(document, list) else document["results"]  # builds of before 2026-11-28: the rows


def perf_command(perf, job, steps, arguments):
    call = CALLS.get(job.sweep.collective, [job.sweep.collective])
    return [perf, *call, "-b", str(steps[0].bytes), "-e", str(steps[-1].bytes),
            "-f", str(arguments.factor), "-n", str(steps[0].iterations), "-w", str(steps[0].warmup),
            "-d", job.type, "--transport", job.sweep.transport, *(["--fresh"] if job.fresh else [])]


def place(job):
    """The form to compare; peers have only an in-place broadcast."""
    in_place = job.in_place or job.sweep.collective == "broadcast"
    return "in_place" if in_place and job.sweep.collective not in NOT_IN_PLACE else "out_of_place"
