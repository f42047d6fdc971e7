# SPDX-License-Identifier: Apache-2.0
"""Plots the results: one panel per collective, time by size, both axes logarithmic."""
import math

import curves

PANEL, GAP, LEFT, TOP, COLUMNS = (260, 220), (80, 76), 70, 86, 3
COLOURS = dict(zip(("backend", "baseline"), curves.COLOURS))
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # by number of ranks


def dash(number):
    return DASHES[number % len(DASHES)]


def curves_of(rows, all_ranks, x, y):
    return "".join(
        curves.curve(x, y, [(row["bytes"], row[role + "_us"]) for row in rows
                            if row["ranks"] == ranks and row[role + "_us"]], COLOURS[role], dash(number))
        for number, ranks in enumerate(all_ranks) for role in COLOURS)


def panel(number, name, rows, all_ranks):
    left = LEFT + number % COLUMNS * (PANEL[0] + GAP[0])
    top = TOP + number // COLUMNS * (PANEL[1] + GAP[1])
    times = [row[role + "_us"] for row in rows for role in COLOURS if row[role + "_us"]]
    svg = curves.text(left + PANEL[0] / 2, top - 10, "panel middle", name)
    if not times:
        return svg + curves.text(left + PANEL[0] / 2, top + PANEL[1] / 2, "tick middle", "nothing to draw")
    x = curves.size_axis([row["bytes"] for row in rows], left, left + PANEL[0])
    y = curves.Axis(times, top + PANEL[1], top, 10)
    return svg + curves.grid(x, y) + curves_of(rows, all_ranks, x, y)


def legend(about, all_ranks, top):
    svg, left = "", LEFT
    for number, ranks in enumerate(all_ranks):
        for role in COLOURS:
            svg += curves.line(left, top, left + 28, top, "curve", curves.stroke(COLOURS[role], dash(number)))
            svg += curves.text(left + 36, top + 4, "tick", f"{about[role]}, {ranks} ranks")
            left += 190
    return svg


def write(path, about, rows):
    names = [name for name in dict.fromkeys(row["collective"] for row in rows) if name != "ddp_step"]
    all_ranks = list(dict.fromkeys(row["ranks"] for row in rows))
    height = TOP + math.ceil(max(1, len(names)) / COLUMNS) * (PANEL[1] + GAP[1]) + 10
    width = LEFT + COLUMNS * (PANEL[0] + GAP[0]) - 40
    title = f"torch.distributed: {about['backend']} and {about['baseline']}, time by message size"
    svg = legend(about, all_ranks, 52)
    for number, name in enumerate(names):
        svg += panel(number, name, [row for row in rows if row["collective"] == name], all_ranks)
    curves.write(path, width, height, title, svg)
