#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Rondo's torch.distributed backend with another one (Gloo; NCCL between GPUs), in one run.

Both backends are active in the same processes, as two groups of the same ranks. For each size they take turns, round
after round, on the same buffers, so that other activity on the machine affects both; in a third group, of Gloo, the
ranks synchronise before a turn is timed. The result is the median over the rounds. Needs PyTorch and Rondo's Python
package (pip install .).

    bench/torch/bench_torch.py --json torch.json --plot torch.svg
"""
import argparse
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))
os.environ.setdefault("OMP_NUM_THREADS", "1")  # ranks share the cores
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

import cases  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import team  # noqa: E402

MIB = 1 << 20


def ranks_list(text):
    if not all(part.isdigit() and int(part) > 1 for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"is '{text}': it must be numbers of ranks above 1, as in 2,4")
    return [int(part) for part in text.split(",")]


def collectives_list(text):
    names = text.split(",")
    for name in names:
        if name not in [*cases.COLLECTIVES, cases.DDP_STEP]:
            known = ", ".join([*cases.COLLECTIVES, cases.DDP_STEP])
            raise argparse.ArgumentTypeError(f"is '{text}': there is no {name}; there are {known}")
    return names


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", default="rondo", help="the backend to measure (rondo)")
    parser.add_argument("--baseline", help="the backend to compare it with (gloo; nccl between GPUs)")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: each rank has a GPU (cpu)")
    parser.add_argument("--ranks", type=ranks_list, default=[2, 4], help="numbers of ranks, comma separated (2,4)")
    parser.add_argument("--collectives", type=collectives_list, default=[*cases.COLLECTIVES, cases.DDP_STEP],
                        help=f"comma separated ({','.join([*cases.COLLECTIVES, cases.DDP_STEP])})")
    parser.add_argument("--first", type=int, default=8, help="smallest size in bytes (8)")
    parser.add_argument("--last", type=int, default=128 * MIB, help="largest size in bytes (134217728)")
    parser.add_argument("--factor", type=int, default=4, help="factor from one size to the next (4)")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each backend (7)")
    parser.add_argument("--turn-ms", type=float, default=30.0,
                        help="approximate length of a turn in ms; at least one call (30)")
    parser.add_argument("--quick", action="store_true", help="few sizes, 3 short rounds: a smoke test")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--plot", help="plot them to this SVG file")
    parser.add_argument("--least", type=float, default=0.0,
                        help="exit with 1 if the lowest ratio is below this (0: never)")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.first, arguments.last, arguments.factor = 512, 2 * MIB, 64
        arguments.rounds, arguments.turn_ms = 3, 5.0
    if arguments.first < 4 or arguments.factor < 2 or arguments.rounds < 1:
        parser.error("--first must be at least 4, --factor at least 2, and --rounds at least 1")
    arguments.baseline = arguments.baseline or ("nccl" if arguments.device == "cuda" else "gloo")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.device == "cuda":
        import torch
        if torch.cuda.device_count() < max(arguments.ranks):
            print(f"skipped: {max(arguments.ranks)} ranks need as many GPUs, and there are {torch.cuda.device_count()}")
            sys.exit(77)
    rows = []
    for ranks in arguments.ranks:
        rows += team.run(arguments, ranks)
    about = report.describe(arguments)
    if arguments.json:
        report.write_json(arguments.json, about, rows)
    if arguments.plot:
        plot.write(arguments.plot, about, rows)
    worst = report.print_table(about, rows)
    sys.exit(1 if worst is not None and worst < arguments.least else 0)


if __name__ == "__main__":
    main()
