# SPDX-License-Identifier: Apache-2.0
"""The results as a table and as JSON."""
import json
import math

import machine
import torch


def describe(arguments):
    """Describes where and how the figures were measured."""
    return {"backend": arguments.backend, "baseline": arguments.baseline, "torch": torch.__version__,
            "processor": machine.processor(), "cores": machine.cores(),
            "device": gpu() if arguments.device == "cuda" else "cpu", "rounds": arguments.rounds,
            "turn_ms": arguments.turn_ms, "date": machine.date()}


def gpu():
    return torch.cuda.get_device_name(0)


def write_json(path, about, rows):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"about": about, "rows": rows}, file, indent=1)
        file.write("\n")


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def microseconds(value):
    return "-" if value is None else f"{value:,.1f}"


def print_table(about, rows):
    """Returns the lowest speedup, None if nothing could be compared."""
    ours, theirs = about["backend"], about["baseline"]
    print(f"# torch {about['torch']}, {about['processor']}, {about['cores']} cores, {about['device']}; medians of "
          f"{about['rounds']} rounds, minimum in brackets")
    print(f"# speed: {theirs}'s time / {ours}'s (above 1: {ours} is faster); a dash: it cannot")
    print(f"# {'collective':<15} {'ranks':>5} {'bytes':>10} {ours + ' us':>12} {'(min)':>12} {theirs + ' us':>12} "
          f"{'(min)':>12} {'speed':>7}")
    for row in rows:
        speed = "-" if row["speed"] is None else f"{row['speed']:.2f}"
        print(f"  {row['collective']:<15} {row['ranks']:>5} {row['bytes']:>10} {microseconds(row['backend_us']):>12} "
              f"{microseconds(row['backend_least_us']):>12} {microseconds(row['baseline_us']):>12} "
              f"{microseconds(row['baseline_least_us']):>12} {speed:>7}")
    print_faults(rows)
    return print_summary(rows)


def print_faults(rows):
    for row in rows:
        for role in ("backend", "baseline"):
            if row[role + "_fault"]:
                print(f"# {row[role]} cannot do {row['collective']} of {row['bytes']} bytes on {row['ranks']} ranks: "
                      f"{row[role + '_fault']}")


def print_summary(rows):
    compared = [row for row in rows if row["speed"] is not None]
    for key in dict.fromkeys((row["collective"], row["ranks"]) for row in compared):
        print_line(f"{key[0]}, {key[1]} ranks", [row for row in compared if (row["collective"], row["ranks"]) == key])
    if not compared:
        print("# nothing could be compared")
        return None
    return print_line("all", compared)


def print_line(name, rows):
    worst = min(rows, key=lambda row: row["speed"])
    print(f"# {name}: geometric mean of the speed {geomean([row['speed'] for row in rows]):.2f}, minimum "
          f"{worst['speed']:.2f} ({worst['collective']}, {worst['ranks']} ranks, {worst['bytes']} bytes)")
    return worst["speed"]
