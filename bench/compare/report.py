# SPDX-License-Identifier: Apache-2.0
"""The results as a table and as JSON."""
import json
import statistics
from collections import Counter

from sheet import speed_beside


def write_json(path, about, rows, turns):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'{{"about": {json.dumps(about, indent=1)},\n"rows": {lines(rows)},\n"turns": {lines(turns)}}}\n')


def lines(objects):
    """An object per line, since there may be thousands."""
    return "[" + ",".join("\n " + json.dumps(rounded(one)) for one in objects) + "\n]"


def rounded(value):
    """With the digits of its floats that a clock can mean."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def print_table(about, rows, names):
    print_heading(about, rows, names)
    for row in rows:
        times = "".join(f" {median(row, name):>12}" for name in names)
        speed = "-" if row["speed"] is None else f"{row['speed']:.2f}"
        print(f"  {row['transport']:<9} {row['collective']:<14} {row['ranks']:>5} {row['bytes']:>10}{times} "
              f"{speed:>7} {interval_words(row):>12}  {row['best_peer'] or ''}")


def interval_words(row):
    if row["interval"] is None:
        return "-"
    low, high = row["interval"]
    return f"{'~' if row['noisy'] else ''}{low:.2f}-{high:.2f}"


def print_heading(about, rows, names):
    for name, version in about["contestants"].items():
        print(f"# {name}: {version}")
    print(f"# {about['processor']}, {about['cores']} cores; {about['type']}; medians of "
          f"{rounds_words(rows)} rounds, in us")
    print_states(about, rows)
    print("# speed: the time of the best peer / Rondo's in the same round, the median (above 1: Rondo is faster); a "
          "dash: none")
    print(f"# interval: of the speed, with a confidence of 95 %; ~: noisy, wider than {about['width_percent']:g} %; a "
          "dash: fewer than 6 rounds")
    columns = "".join(f" {name:>12}" for name in names)
    heading = f"{'transport':<9} {'collective':<14} {'ranks':>5} {'bytes':>10}"
    print(f"# {heading}{columns} {'speed':>7} {'interval':>12}  best peer")


def rounds_words(rows):
    counts = [len(one["rounds_us"]) for row in rows for one in row["contestants"].values()] or [0]
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def print_states(about, rows):
    found = [ns for row in rows for ns in row["handoff_ns"] if ns is not None]
    if about["state_seconds"] == 0:
        print("# whatever the state of the machine")
    elif not found:
        print("# there is no state of the machine to probe")
    else:
        words = ", ".join(f"{word} in {count} rows" for word, count in states_of(rows).items())
        print(f"# a cache line from one CPU to another: {min(found):.0f} to {max(found):.0f} ns ({words}); discarded "
              f"because the state changed: {about['turns_thrown_away']} turns and {about['rounds_left_out']} rounds of "
              "a sweep")


def states_of(rows):
    return Counter(row["state"] for row in rows if row["state"] is not None)


def median(row, name):
    entry = row["contestants"].get(name)
    return "-" if entry is None else f"{entry['median_us']:,.2f}"


def print_faults(faults):
    for (sweep, name), (size, fault) in faults.items():
        print(f"# {name} is left out of {sweep}, from {size} bytes on: {fault.splitlines()[0]}")


def print_summary(rows, names):
    """Returns the lowest speedup, None if nothing could be compared."""
    compared = [row for row in rows if row["speed"] is not None]
    if not compared:
        print("# nothing could be compared")
        return None
    for key in ("transport", "collective", "ranks"), ("transport",):
        for values in dict.fromkeys(tuple(row[part] for part in key) for row in compared):
            own = [row for row in compared if tuple(row[part] for part in key) == values]
            print_line(", ".join(map(words, values)), own, lambda row: row["speed"])
    for name in names:
        own = [row for row in compared if name != "rondo" and speed_beside(row, name)]
        if own:
            print_line("beside " + name, own, lambda row, name=name: speed_beside(row, name))
    counts = Counter(row["noisy"] for row in compared)
    print(f"# of {len(compared)} speeds, {counts[True]} are noisy, and {counts[None]} have too few rounds to tell")
    return min(row["speed"] for row in compared)


def words(value):
    return f"{value} ranks" if isinstance(value, int) else value


def print_line(name, rows, speed):
    worst = min(rows, key=speed)
    mean = statistics.geometric_mean(map(speed, rows))
    print(f"# {name}: geometric mean of the speed {mean:.2f}, minimum {speed(worst):.2f} "
          f"({worst['collective']}, {worst['ranks']} ranks, {worst['bytes']} bytes)")
