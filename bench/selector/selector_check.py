#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures whether Rondo chooses well: times every algorithm that a call could use, and the one that it does use.

    bench/selector/selector_check.py --perf build/bench/perf/rondo-perf --plan build/tools/plan/rondo-plan

A choice is good if its time is within 10% of the fastest candidate's, or within the spread of the measurement, which
is how far two series of the same choice differ. Algorithms that send the same messages, as those of a tree and of a
chain between two ranks, are one candidate. Prints a table, the worst cells, and two figures: the share of good
choices, and the median of |predicted - measured| / measured of the choices. Exits with 1 if one of them misses
--share or --error, and with 2 if something, or everything, could not be measured.
"""
import argparse
import functools
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "../compare"))
sys.path.insert(1, os.path.join(HERE, "../common"))

import jobs  # noqa: E402
import machine  # noqa: E402
import processes  # noqa: E402
import states  # noqa: E402
from contestant import Missing  # noqa: E402
from options import names_of, number_above, program, ranks_list, size, whole_from, writable  # noqa: E402

KNOWN = [name for name in jobs.COLLECTIVES if name not in ("barrier", "send_recv")]
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
SLACK = 0.10
TURN_SECONDS = 60
CHOSEN = re.compile(r"^uses (\S+), with", re.M)
EXECUTOR = re.compile(r"^predicted over (\w+) ", re.M)
PREDICTED = re.compile(r"^  (\w+) +([\d.]+) us(.*)$", re.M)


@dataclass
class Cell:
    """A collective on a number of ranks, at one size."""
    collective: str
    ranks: int
    bytes: int
    chosen: str
    predicted_us: dict  # by candidate, as RONDO_ALGORITHM names it
    times_us: dict = field(default_factory=dict)  # by candidate, and by "" for Rondo's own choice: a list

    def measured(self, name):
        return statistics.median(self.times_us[name])

    def best(self):
        return min((name for name in self.predicted_us if name in self.times_us), key=self.measured)

    def ratio(self):
        """How much longer the choice takes than the best candidate."""
        return min(self.measured(""), self.measured(self.chosen)) / self.measured(self.best())

    def spread(self):
        """Of two series of the same choice."""
        one, other = self.measured(""), self.measured(self.chosen)
        return max(one, other) / min(one, other) - 1

    def is_good(self):
        return self.ratio() <= 1 + max(SLACK, self.spread())

    def error(self):
        measured = self.measured("")
        return abs(self.predicted_us[self.chosen] - measured) / measured

    def __str__(self):
        return f"{self.collective}, {self.ranks} ranks, {self.bytes} B"


def explained(collective, ranks, length, text):
    """The Cell of one call, as rondo-perf --explain describes it."""
    chosen = CHOSEN.search(text)
    if not chosen:
        raise Missing(f"--explain says nothing of a choice: {text[:300]}")
    predicted = {}
    parts = EXECUTOR.split(text)[1:]
    for executor, rows in zip(parts[::2], parts[1::2]):
        for name, time_us, remark in PREDICTED.findall(rows):
            if "not chosen" not in remark:
                predicted[f"{name}@{executor}"] = float(time_us)
    return Cell(collective, ranks, length, chosen[1], predicted)


class Perf:
    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder

    def run(self, collective, ranks, *words, algorithm=None):
        asked = self.arguments
        command = [asked.perf, collective, "--ranks", str(ranks), "-f", str(asked.factor), "--transport",
                   asked.transport, *words]
        variables = {"RONDO_ALGORITHM": f"{collective}={algorithm}" if algorithm else ""}
        return processes.run(command, variables, TURN_SECONDS)

    def cells(self, collective, ranks):
        sizes = jobs.sizes_of(jobs.Sweep(self.arguments.transport, collective, ranks), self.arguments)
        outcome = self.run(collective, ranks, "-b", str(sizes[0]), "-e", str(sizes[-1]), "--explain")
        if outcome.fault:
            raise Missing(outcome.fault)
        calls = re.split(rf"(?m)^(?={collective}\(count=)", outcome.printed)[1:]
        return [self.without_copies(explained(collective, ranks, *call)) for call in zip(sizes, calls, strict=True)]

    def without_copies(self, cell):
        """Without candidates that send the same messages as the chosen one, or as one before them."""
        kept = {}
        for name in sorted(cell.predicted_us, key=lambda name: name != cell.chosen):
            if not any(self.are_alike(cell.collective, cell.ranks, name, other) for other in kept):
                kept[name] = cell.predicted_us[name]
        cell.predicted_us = kept
        return cell

    @functools.cache
    def are_alike(self, collective, ranks, one, other):
        """Over connections; what ranks pull from one another are no messages."""
        (name, executor), (other_name, other_executor) = one.split("@"), other.split("@")
        if not executor == other_executor == "connections":
            return False
        outcome = processes.run([self.arguments.plan, "diff", f"{collective}={name}", f"{collective}={other_name}",
                                 "--ranks", str(ranks)], timeout=TURN_SECONDS)
        if outcome.fault:
            raise Missing(outcome.fault)
        return outcome.printed == "no difference\n"

    def turn(self, cells, algorithm):
        """The algorithm's times in us."""
        path, times_us = os.path.join(self.folder, "rows.json"), []
        for part, iterations, warmup in parts_of(cells):
            outcome = self.run(part[0].collective, part[0].ranks, "-b", str(part[0].bytes), "-e", str(part[-1].bytes),
                               "-n", str(iterations), "-w", str(warmup), "-c", "0", "--json", path, algorithm=algorithm)
            if outcome.fault:
                raise Missing(outcome.fault)
            with open(path, encoding="utf-8") as file:
                times_us += [row["out_of_place_us"] for row in json.load(file)["results"]]
        return zip(cells, times_us, strict=True)


def parts_of(cells):
    """(cells, iterations, warm-up): rondo-perf uses one number of iterations for all sizes."""
    for last, iterations, warmup in jobs.PARTS:
        part = [cell for cell in cells if cell.bytes <= last]
        if part:
            yield part, iterations, warmup
        cells = cells[len(part):]


def measure(perf, cells, rounds, probe, end):
    """Adds a time of each candidate in every round; those of a round are of one state of the machine. Returns the
    number of rounds."""
    names = ["", *sorted({name for cell in cells for name in cell.predicted_us})]

    def take(name):
        return perf.turn([cell for cell in cells if name == "" or name in cell.predicted_us], name)

    for done in range(rounds):
        random.shuffle(names)
        _, turns, _ = states.in_one_state(names, take, probe, lambda: time.monotonic() > end)
        for name, times in turns.items():
            for cell, time_us in times:
                cell.times_us.setdefault(name, []).append(time_us)
        if not turns or time.monotonic() > end:
            return done + bool(turns)
    return rounds


def row(cells):
    good = sum(cell.is_good() for cell in cells)
    return (f"{good} of {len(cells)}", f"{statistics.median(cell.error() for cell in cells):.0%}",
            f"{statistics.median(cell.spread() for cell in cells):.0%}", f"{max(cell.ratio() for cell in cells):.2f}")


def report(cells, worst):
    print("\n| collective | ranks | good choices | median error | median spread | worst ratio |")
    print("|---|---|---|---|---|---|")
    groups = {}
    for cell in cells:
        groups.setdefault((cell.collective, cell.ranks), []).append(cell)
    for (collective, ranks), group in groups.items():
        print(f"| {collective} | {ranks} | {' | '.join(row(group))} |")
    poor = sorted((cell for cell in cells if not cell.is_good()), key=Cell.ratio, reverse=True)
    for cell in poor[:worst]:
        both = (f"{name} takes {cell.measured(name):.1f} us (predicted {cell.predicted_us[name]:.1f})"
                for name in (cell.chosen, cell.best()))
        print(f"{cell}: {', '.join(both)}; spread {cell.spread():.0%}")


def saved(cells, transport):
    about = {"processor": machine.processor(), "cpus": machine.cores(), "kernel": machine.kernel(),
             "date": machine.date(), "transport": transport,
             "command": machine.command(["selector_check.py", *sys.argv[1:]])}
    rows = [{"collective": cell.collective, "ranks": cell.ranks, "bytes": cell.bytes, "chosen": cell.chosen,
             "predicted_us": cell.predicted_us, "times_us": cell.times_us} for cell in cells]
    return {"about": about, "cells": rows}


def parse(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf", type=program, default="rondo-perf", help="the program rondo-perf")
    parser.add_argument("--plan", type=program, default="rondo-plan", help="the program rondo-plan")
    parser.add_argument("--collectives", type=names_of("collective", KNOWN), default=list(COLLECTIVES))
    parser.add_argument("--ranks", type=ranks_list, default=[2, 4, 8])
    parser.add_argument("--transport", default="shm")
    parser.add_argument("--first", type=size, default=size("8"), help="smallest size")
    parser.add_argument("--last", type=size, default=size("8M"), help="largest size")
    parser.add_argument("--factor", type=whole_from(2), default=4, help="between sizes")
    parser.add_argument("--rounds", type=whole_from(1), default=5, help="times of each candidate")
    parser.add_argument("--minutes", type=number_above(0), default=30, help="after which no further round is begun")
    parser.add_argument("--share", type=number_above(0), default=0.9, help="of good choices, at least")
    parser.add_argument("--error", type=number_above(0), default=0.3, help="of predictions, at most")
    parser.add_argument("--worst", type=whole_from(0), default=10, help="poor choices to list")
    parser.add_argument("--json", type=writable, help="file for all times")
    parser.set_defaults(type="float")
    return parser.parse_args(words)


def main():
    arguments = parse(sys.argv[1:])
    begin, end = time.monotonic(), time.monotonic() + 60 * arguments.minutes
    sweeps = [(collective, ranks) for collective in arguments.collectives for ranks in arguments.ranks]
    print(f"{machine.processor()}, {machine.cores()} CPUs, {machine.date()}: "
          f"{machine.command(['selector_check.py', *sys.argv[1:]])}")
    cells, fault = [], None
    with tempfile.TemporaryDirectory() as folder:
        perf, probe = Perf(arguments, folder), states.probe_by(arguments.perf)
        try:
            for number, (collective, ranks) in enumerate(sweeps, 1):
                found = perf.cells(collective, ranks)
                share = begin + (end - begin) * number / len(sweeps)
                rounds = measure(perf, found, arguments.rounds, probe, share)
                print(f"{collective}, {ranks} ranks: {len(found)} sizes, {rounds} rounds", flush=True)
                cells += found if rounds else []
        except Missing as what:
            fault = what
            print(what, file=sys.stderr)
    if not cells:
        print("nothing could be measured, or the machine never kept one state for a round", file=sys.stderr)
        return 2
    report(cells, arguments.worst)
    share = sum(cell.is_good() for cell in cells) / len(cells)
    error = statistics.median(cell.error() for cell in cells)
    print(f"\n{share:.0%} of {len(cells)} choices are good; predictions are off by {error:.0%} in the median")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(saved(cells, arguments.transport), file, indent=1)
    return 2 if fault else int(share < arguments.share or error > arguments.error)


if __name__ == "__main__":
    sys.exit(main())
