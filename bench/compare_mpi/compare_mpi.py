#!/usr/bin/env python3
"""Rondo's all_reduce beside Open MPI's MPI_Allreduce, between processes of this host over shared memory.

Both are timed in the same way and in turns, round after round, so that whatever else the machine does meets both;
what counts is the median over the rounds. Needs mpirun and mpicc (Debian: openmpi-bin, libopenmpi-dev).

    bench/compare_mpi/compare_mpi.py --perf build/bench/perf/rondo-perf
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KIB, MIB = 1 << 10, 1 << 20
# Last size, iterations and warm-up of each part of the sweep: small calls need many to be timed well.
PARTS = ((4 * KIB, 200, 20), (256 * KIB, 50, 5), (4 * MIB, 20, 3), (1 << 40, 5, 1))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perf", default="rondo-perf", help="the rondo-perf to run (rondo-perf)")
    parser.add_argument("--ranks", default="2,4,8", help="numbers of ranks, comma separated (2,4,8)")
    parser.add_argument("--first", type=int, default=8, help="smallest size in bytes (8)")
    parser.add_argument("--last", type=int, default=128 * MIB, help="largest size in bytes (134217728)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    parser.add_argument("--transport", default="shm", help="Rondo's transport (shm)")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--least", type=float, default=0.0,
                        help="exit with 1 where Rondo is slower than this part of Open MPI's speed (0: never)")
    return parser.parse_args()


def parts(first, last):
    """(first, last, iterations, warmup) of each part of the sweep."""
    for end, iterations, warmup in PARTS:
        if first > last:
            return
        stop = first
        while stop * 2 <= min(end, last):
            stop *= 2
        if first <= end:
            yield first, stop, iterations, warmup
            first = stop * 2


def mpi_options():
    """Shared memory only, and more ranks than cores are fine."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"\(Open MPI\) (\d+)", version)
    if not found:
        sys.exit("compare_mpi: mpirun is not Open MPI's: " + version.splitlines()[0])
    shared_memory = "vader" if int(found[1]) < 5 else "sm"
    options = ["--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", f"self,{shared_memory}"]
    return (["--allow-run-as-root"] if os.geteuid() == 0 else []) + options


def run(command, **variables):
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                            env=dict(os.environ, **variables))
    if result.returncode != 0:
        sys.exit(f"compare_mpi: {' '.join(command)} failed with {result.returncode}:\n{result.stdout}{result.stderr}")
    return result.stdout


def time_mpi(driver, options, ranks, part):
    """bytes -> microseconds"""
    output = run(["mpirun", *options, "-np", str(ranks), driver, *map(str, part)])
    return {int(line.split()[0]): float(line.split()[1]) for line in output.splitlines()}


def time_rondo(arguments, ranks, part, folder):
    first, last, iterations, warmup = part
    path = os.path.join(folder, "rows.json")
    run([arguments.perf, "all_reduce", "--ranks", str(ranks), "-b", str(first), "-e", str(last), "-f", "2",
         "-n", str(iterations), "-w", str(warmup), "--transport", arguments.transport, "--json", path],
        RONDO_PIN="1")  # as mpirun binds its processes
    with open(path, encoding="utf-8") as file:
        return {row["bytes"]: row["out_of_place_us"] for row in json.load(file)}


def measure(arguments, driver, folder):
    """(ranks, bytes) -> ([Rondo's times], [Open MPI's])"""
    options = mpi_options()
    times = {}
    for turn in range(arguments.rounds):
        for ranks in map(int, arguments.ranks.split(",")):
            print(f"round {turn + 1} of {arguments.rounds}, {ranks} ranks", file=sys.stderr)
            for part in parts(arguments.first, arguments.last):
                rondo = time_rondo(arguments, ranks, part, folder)
                mpi = time_mpi(driver, options, ranks, part)
                for size in rondo:
                    both = times.setdefault((ranks, size), ([], []))
                    both[0].append(rondo[size])
                    both[1].append(mpi[size])
    return times


def summarize(times):
    rows = []
    for (ranks, size), (rondo, mpi) in sorted(times.items()):
        rondo_us, mpi_us = statistics.median(rondo), statistics.median(mpi)
        rows.append({"ranks": ranks, "bytes": size, "rondo_us": rondo_us, "mpi_us": mpi_us,
                     "speed": mpi_us / rondo_us, "rondo_rounds_us": rondo, "mpi_rounds_us": mpi})
    return rows


def print_table(rows):
    print("# all_reduce of float, sum; speed: Open MPI's time / Rondo's (above 1: Rondo is faster)")
    print(f"# {'ranks':>5} {'bytes':>12} {'Rondo us':>12} {'Open MPI us':>12} {'speed':>8}")
    for row in rows:
        print(f"  {row['ranks']:>5} {row['bytes']:>12} {row['rondo_us']:>12.2f} {row['mpi_us']:>12.2f} "
              f"{row['speed']:>8.2f}")
    worst = min(rows, key=lambda row: row["speed"])
    print(f"# least speed: {worst['speed']:.2f} ({worst['ranks']} ranks, {worst['bytes']} bytes)")
    return worst["speed"]


def main():
    arguments = parse_arguments()
    for tool in ("mpirun", "mpicc"):
        if shutil.which(tool) is None:
            sys.exit(f"compare_mpi: there is no {tool} here; Debian has it in openmpi-bin and libopenmpi-dev")
    if shutil.which(arguments.perf) is None:
        sys.exit(f"compare_mpi: there is no {arguments.perf}; say with --perf where it was built")
    with tempfile.TemporaryDirectory() as folder:
        driver = os.path.join(folder, "mpi_all_reduce")
        run(["mpicc", "-O2", "-o", driver, os.path.join(HERE, "mpi_all_reduce.c")])
        rows = summarize(measure(arguments, driver, folder))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    sys.exit(1 if print_table(rows) < arguments.least else 0)


if __name__ == "__main__":
    main()
