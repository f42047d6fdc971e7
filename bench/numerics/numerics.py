#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the error of all_reduce sums by each of Rondo's algorithms, and by Open MPI and Gloo, against exact sums.

    bench/numerics/numerics.py --sums build/bench/numerics/rondo-sums --torch-python PYTHON

The error of an element is |result - exact sum| / (u * sum of |operands|), where u is half the distance from 1 to
the next number of the type. Prints three tables for each type: the mean over the elements, the maximum, and the bound
of the maximum, which docs/numerics.md derives from how often an algorithm rounds. Exits with 1 if one of Rondo's
algorithms exceeds its bound, or fails.
"""
import argparse
import math
import os
import random
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(HERE, "../compare"))
sys.path.insert(1, os.path.join(HERE, "../common"))

import contestants  # noqa: E402
from bounds import bound  # noqa: E402
from contestant import Missing  # noqa: E402
from floats import FLOATS  # noqa: E402
from options import program  # noqa: E402

DATA = {"positive": random.random, "signed": lambda: random.uniform(-1, 1)}


def list_of(parse, good):
    def read(text):
        try:
            values = [parse(part) for part in text.split(",")]
        except ValueError:
            values = [None]
        if not all(map(good, values)):
            raise argparse.ArgumentTypeError(f"is '{text}', which makes no sense")
        return values
    return read


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sums", type=program, required=True, help="the program rondo-sums")
    parser.add_argument("--torch-python", default=os.environ.get("RONDO_TORCH_PYTHON"),
                        help="an interpreter with PyTorch, for Gloo (RONDO_TORCH_PYTHON)")
    parser.add_argument("--ranks", type=list_of(int, lambda n: n is not None and n > 1), default=[2, 4, 8, 16])
    parser.add_argument("--types", type=list_of(str, lambda name: name in FLOATS), default=list(FLOATS))
    parser.add_argument("--count", type=int, default=65536, help="elements (65536)")
    parser.add_argument("--data", choices=DATA, default="positive", help="uniform in [0, 1), or in [-1, 1]")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.count < 1:
        parser.error("--count must be at least 1")
    return arguments


def find_contestants(arguments, folder):
    """Returns the contestants by row name, and the names of Rondo's rows."""
    ours = contestants.algorithms_of_rondo(arguments.sums)
    found = dict(ours)
    peers = {"Open MPI": lambda: contestants.open_mpi(folder), "Gloo": lambda: contestants.gloo(arguments.torch_python)}
    for name, find in peers.items():
        try:
            found[name] = find()
        except Missing as reason:
            print(f"{name} is left out: {reason}", file=sys.stderr)
    return found, set(ours)


def write_input(job, number, draw):
    """Writes the input; returns the exact sum of each element and the sum of its operands' magnitudes."""
    with open(job.source, "wb") as file:
        columns = []
        for _ in range(job.ranks):
            data = number.to_bytes([draw() for _ in range(job.count)])
            file.write(data)
            columns.append(number.from_bytes(data))
    return [(math.fsum(operands), math.fsum(map(abs, operands))) for operands in zip(*columns)]


def errors_of(job, number, sums):
    with open(job.result, "rb") as file:
        results = number.from_bytes(file.read())
    if len(results) != job.count:
        raise ValueError(f"{len(results)} results instead of {job.count}")
    return [abs(result - exact) / (number.unit * size) for result, (exact, size) in zip(results, sums) if size != 0]


class Sheet:
    """The results for a type: by contestant and number of ranks, the mean, the maximum and its bound, if known."""

    def __init__(self, kind, arguments):
        self.kind, self.number, self.arguments = kind, FLOATS[kind], arguments
        self.cells, self.faults = {}, []

    def measure(self, found, ours, folder):
        for ranks in self.arguments.ranks:
            job = contestants.Job(self.kind, ranks, self.arguments.count, os.path.join(folder, "input"),
                                  os.path.join(folder, "output"))
            sums = write_input(job, self.number, DATA[self.arguments.data])
            for name, contest in found.items():
                answer = contest(job)
                if answer is None:
                    continue
                if answer.fault:
                    self.complain(name, ranks, answer.fault, name in ours)
                    continue
                errors = errors_of(job, self.number, sums)
                limit = None if answer.roundings is None else bound(answer.roundings, ranks, self.number)
                self.cells[name, ranks] = sum(errors) / len(errors), max(errors), limit
                if limit is not None and max(errors) > limit:
                    self.complain(name, ranks, f"an error of {max(errors):.3f} is above the bound", True)

    def complain(self, name, ranks, what, is_ours):
        print(f"{name}, {self.kind}, {ranks} ranks: {what.splitlines()[0]}", file=sys.stderr)
        if is_ours:
            self.faults.append(name)

    def print(self, names):
        for index, (what, digits) in enumerate([("mean", 3), ("maximum", 2), ("bound", 2)]):
            self.print_table(what, names, {key: f"{cell[index]:.{digits}f}" for key, cell in self.cells.items()
                                           if cell[index] is not None})

    def print_table(self, what, names, cells):
        columns = [f"{ranks} ranks" for ranks in self.arguments.ranks]
        print(f"| {self.kind}, {what} | {' | '.join(columns)} |")
        print("|---" * (len(columns) + 1) + "|")
        for name in names:
            row = [cells.get((name, ranks), "-") for ranks in self.arguments.ranks]
            if any(cell != "-" for cell in row):
                print(f"| {name} | {' | '.join(row)} |")
        print()


def main():
    arguments = parse_arguments()
    random.seed(arguments.seed)
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            found, ours = find_contestants(arguments, folder)
        except Missing as reason:
            sys.exit(f"numerics: {reason}")
        for kind in arguments.types:
            sheet = Sheet(kind, arguments)
            sheet.measure(found, ours, folder)
            sheet.print(found)
            faults += sheet.faults
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
