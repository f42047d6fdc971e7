#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws what plan-scale prints: time by ranks, a panel for each size. Lines are predictions, rings simulations.

usage: plan-scale | picture.py PICTURE.svg
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common"))
import curves  # noqa: E402

WIDTH, HEIGHT, GAP, LEFT, TOP = 300, 240, 84, 70, 100
LEGEND_STEP = 190


def panel(title, rows, left):
    """rows: the number of ranks, then the cells of the algorithms."""
    x = curves.Axis([ranks for ranks, _ in rows], left, left + WIDTH, 4, 2)
    numbers = [[[float(word) for word in re.findall(r"\d+", cell)] for cell in cells] for _, cells in rows]
    y = curves.Axis([value for row in numbers for cell in row for value in cell], TOP + HEIGHT, TOP, 10)
    svg = curves.text(left + WIDTH / 2, TOP - 10, "panel middle", title)
    svg += curves.grid(x, y, x_words=lambda value: f"{value:,.0f}")
    for column, colour in zip(range(len(rows[0][1])), curves.COLOURS):
        points = [(ranks, row[column]) for (ranks, _), row in zip(rows, numbers) if row[column]]
        svg += curves.curve(x, y, [(ranks, cell[0]) for ranks, cell in points], colour)
        for ranks, cell in points:
            if len(cell) == 2:
                svg += (f'<circle cx="{x.at(ranks):.1f}" cy="{y.at(cell[1]):.1f}" r="4.5" class="curve" '
                        f'{curves.stroke(colour)}/>\n')
    return svg


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print("usage: plan-scale | picture.py PICTURE.svg", file=sys.stderr)
        return 2
    before, found, after = sys.stdin.read().partition("Microseconds of an all_reduce")
    if not found:
        print(f"picture.py: standard input is not what plan-scale prints: {before[:60]!r}", file=sys.stderr)
        return 2
    lines = after.splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    names, rows = table[0][2:], table[2:]
    svg = ""
    for number, (name, colour) in enumerate(zip(names, curves.COLOURS)):
        left = LEFT + number * LEGEND_STEP
        svg += curves.line(left, 52, left + 28, 52, "curve", curves.stroke(colour))
        svg += curves.text(left + 36, 56, "tick", name)
    sizes = list(dict.fromkeys(row[0] for row in rows))
    for along, size in enumerate(sizes):
        of_size = [(int(row[1]), row[2:]) for row in rows if row[0] == size]
        svg += panel(curves.size_words(int(size)), of_size, LEFT + along * (WIDTH + GAP))
    curves.write(sys.argv[1], LEFT + len(sizes) * (WIDTH + GAP) - 30, TOP + HEIGHT + 40,
                 "all_reduce by ranks in hosts of 8: predicted (lines) and simulated (rings)", svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
