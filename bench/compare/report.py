# SPDX-License-Identifier: Apache-2.0
"""The results as a table and as JSON."""
import json
import statistics

from measure import speed_beside


def write_json(path, about, rows):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"about": about, "rows": rows}, file, indent=1)
        file.write("\n")


def print_table(about, rows, names):
    print_heading(about, rows, names)
    for row in rows:
        times = "".join(f" {median(row, name):>12}" for name in names)
        speed = "-" if row["speed"] is None else f"{row['speed']:.2f}"
        print(f"  {row['transport']:<9} {row['collective']:<14} {row['ranks']:>5} {row['bytes']:>10}{times} "
              f"{speed:>7}  {row['best_peer'] or ''}")


def print_heading(about, rows, names):
    for name, version in about["contestants"].items():
        print(f"# {name}: {version}")
    print(f"# {about['processor']}, {about['cores']} cores; {about['type']}; medians of {about['rounds']} "
          "rounds, in us")
    print_states(about, rows)
    print("# speed: the time of the best peer / Rondo's (above 1: Rondo is faster); a dash: none")
    columns = "".join(f" {name:>12}" for name in names)
    heading = f"{'transport':<9} {'collective':<14} {'ranks':>5} {'bytes':>10}"
    print(f"# {heading}{columns} {'speed':>7}  best peer")


def print_states(about, rows):
    found = [ns for row in rows for ns in row["handoff_ns"] if ns is not None]
    if about["state_seconds"] == 0:
        print("# whatever the state of the machine")
    elif not found:
        print("# there is no state of the machine to probe")
    else:
        print(f"# a cache line from one CPU to another: {min(found):.0f} to {max(found):.0f} ns; discarded because the "
              f"state changed: {about['turns_thrown_away']} turns and {about['rounds_left_out']} rounds of a sweep")


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
    return min(row["speed"] for row in compared)


def words(value):
    return f"{value} ranks" if isinstance(value, int) else value


def print_line(name, rows, speed):
    worst = min(rows, key=speed)
    mean = statistics.geometric_mean(map(speed, rows))
    print(f"# {name}: geometric mean of the speed {mean:.2f}, minimum {speed(worst):.2f} "
          f"({worst['collective']}, {worst['ranks']} ranks, {worst['bytes']} bytes)")
