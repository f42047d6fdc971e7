#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the results of compare.py as one heat map: Rondo's speed beside the best peer, by collective and size.

    bench/compare/picture.py RESULTS.json PICTURE.svg
"""
import os
import statistics
import sys
import textwrap
from collections import Counter
from html import escape

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../common"))

import curves  # noqa: E402
import results  # noqa: E402
from curves import text  # noqa: E402
from shades import SHADES, number_of, style  # noqa: E402

CELL, LABEL, MEAN, GAP, LEFT, LINE = (46, 22), 118, 54, (34, 30), 24, 17
MIN_WIDTH = 760
HEADING = 46  # of a panel: its title and its sizes
NOISY, FEW = "~", "?"
OPTIONS = {"in_place": "in place", "fresh": "fresh inputs"}
CHARACTER = 6.6  # the mean width of one, at most


def speed_words(speed):
    """Two digits and more, so that 0.97 and 1.03 are not 1.0."""
    return f"{speed:.2f}" if speed < 2 else f"{speed:.1f}" if speed < 9.95 else f"{speed:.0f}"


def rectangle(x, y, width, look):
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{CELL[1] - 2}" class="{look}"/>\n'


def box(x, y, width, words, look, told=""):
    """A cell; look: the number of its shade and more classes of its text, or None for a hole."""
    middle, base = x + (width - 2) / 2, y + CELL[1] / 2 + 3
    if look is None:
        inside = rectangle(x, y, width - 2, "hole") + text(middle, base, "cell middle faint", words)
    else:
        shade, more = look
        inside = rectangle(x, y, width - 2, f"c{shade}") + text(middle, base, f"cell middle i{shade} {more}", words)
    return f"<g>{f'<title>{escape(told)}</title>' if told else ''}{inside}</g>\n"


def told_of(row):
    """What a reader sees who points at a cell."""
    times = "; ".join(f"{name} {one['median_us']:.4g} us" for name, one in row["contestants"].items())
    said = f"{row['collective']}, {row['ranks']} ranks, {curves.size_words(row['bytes'])}, {row['transport']}: {times}"
    if row["interval"] is not None:
        low, high = row["interval"]
        said += f"; best peer {row['best_peer']}, 95 % interval {low:.2f} to {high:.2f}"
    return said


def cell(row, x, y, width=CELL[0], more=""):
    if row is None:
        return box(x, y, width, "\u2013", None)
    if row["speed"] is None:
        return box(x, y, width, "\u00d7", None, told_of(row))
    svg = box(x, y, width, row["mark"] + speed_words(row["speed"]), (number_of(row["speed"]), more), told_of(row))
    return svg + (rectangle(x + 1, y, width - 4, "noisy") if row["mark"] == NOISY else "")


def mean_cell(rows, x, y):
    if len(rows) == 1:  # a barrier has no other cell
        return cell(rows[0], x, y, MEAN, "mean")
    speeds = [row["speed"] for row in rows if row["speed"] is not None]
    if not speeds:
        return box(x, y, MEAN, "\u2013", None)
    mean = statistics.geometric_mean(speeds)
    return box(x, y, MEAN, speed_words(mean), (number_of(mean), "mean"), f"geometric mean of {len(speeds)} sizes")


class Panels:
    """How the rows are divided: a panel for each transport and number of ranks, with a line for each collective; of a
    single collective, a panel for each transport, with a line for each number of ranks."""

    def __init__(self, rows):
        self.rows = rows
        self.one = len({row["collective"] for row in rows}) == 1
        self.sizes = sorted({row["bytes"] for row in rows if row["bytes"] > 0})
        self.columns = list(dict.fromkeys(row["transport"] for row in rows))
        self.bands = [None] if self.one else list(dict.fromkeys(row["ranks"] for row in rows))
        self.lines = list(dict.fromkeys(self.line_of(row) for row in rows))
        self.states = {row["state"] for row in rows} - {None}

    def line_of(self, row):
        return row["ranks"] if self.one else row["collective"]

    def width(self):
        return LABEL + len(self.sizes) * CELL[0] + MEAN

    def height(self):
        return HEADING + len(self.lines) * CELL[1]

    def of(self, transport, band):
        return [row for row in self.rows if row["transport"] == transport and band in (None, row["ranks"])]

    def title(self, transport, band):
        return f"{self.rows[0]['collective'] if self.one else f'{band} ranks'}, {transport}"

    def label(self, line, rows):
        """Says the state too, if it is not the same everywhere."""
        name = f"{line} ranks" if self.one else line
        states = {row["state"] for row in rows} - {None}
        if len(self.states) < 2 or states == {"near"} or not states:
            return name
        return f"{name} ({'far' if states == {'far'} else 'near, far'})"

    def draw(self, transport, band, left, top):
        rows = self.of(transport, band)
        svg = text(left, top + 12, "panel", self.title(transport, band))
        for along, size in enumerate(self.sizes):
            svg += text(left + LABEL + (along + 0.5) * CELL[0], top + HEADING - 8, "tick middle", short(size))
        svg += text(left + LABEL + len(self.sizes) * CELL[0] + MEAN / 2, top + HEADING - 8, "tick middle", "all sizes")
        for down, line in enumerate(self.lines):
            own = [row for row in rows if self.line_of(row) == line]
            svg += self.draw_line(own, self.label(line, own), left, top + HEADING + down * CELL[1])
        return svg

    def draw_line(self, rows, label, left, y):
        svg = text(left + LABEL - 8, y + CELL[1] / 2 + 3, "tick end", label)
        by_size = {row["bytes"]: row for row in rows}
        has_sizes = set(by_size) != {0}
        for along, size in enumerate(self.sizes if has_sizes else []):
            svg += cell(by_size.get(size), left + LABEL + along * CELL[0], y)
        return svg + mean_cell(rows, left + LABEL + len(self.sizes) * CELL[0], y)


def short(size):
    return curves.size_words(size).replace("iB", "i")


def legend(left, top):
    svg = text(left, top + 15, "tick", "slower")
    x = left + 48
    for number, shade in enumerate(SHADES):
        svg += box(x, top, 44, shade.label, (number, ""))
        x += 44
    return svg + text(x + 6, top + 15, "tick", "faster (each colour from its number on)")


def marked(rows):
    """The rows with their marks. If no noise is known, a sentence says it instead of all cells."""
    known = any(row["noisy"] is not None for row in rows)
    marks = {True: NOISY, False: "", None: FEW if known else ""}
    return [{**row, "mark": "" if row["speed"] is None else marks[row["noisy"]]} for row in rows]


def legend_of_marks(rows):
    """What the marks mean that the picture has."""
    compared = [row for row in rows if row["speed"] is not None]
    counts = Counter(row["mark"] for row in compared)
    said = []
    if compared and all(row["noisy"] is None for row in compared):
        said.append("No cell has the 6 rounds that tell its noise.")
    if counts[NOISY]:
        said.append(f"{NOISY} in a dashed frame: noisy, the 95 % interval is wide ({counts[NOISY]} of {len(compared)} "
                    "cells).")
    if counts[FEW]:
        said.append(f"{FEW}: fewer than the 6 rounds that tell its noise ({counts[FEW]} cells).")
    if len(compared) < len(rows):
        said.append("\u00d7: nothing to compare, as a contestant failed or had no time.")
    return " ".join([*said, "\u2013: not measured."])


def captions(about, rows):
    """The lines under the title."""
    counts = [len(row["contestants"]["rondo"]["rounds_us"]) for row in rows if "rondo" in row["contestants"]] or [0]
    rounds = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    states = Counter(row["state"] for row in rows if row["state"])
    state = ", ".join(f"{name} in {count} cells" if len(states) > 1 else name for name, count in states.items())
    place = f"{about['processor']}, {about['cores']} cores"
    calls = ", ".join([about["type"], *(words for name, words in OPTIONS.items() if about.get(name))])
    peers = "; ".join(f"{name}: {version}" for name, version in about["contestants"].items())
    return ["Down: the call; across: the size of its vector. A cell is the best peer's time divided by Rondo's, "
            f"median of {rounds} rounds: 2 means half the time.",
            f"{place}; {about['date']}; {calls}" + (f"; CPUs {state}" if state else "") + ".", peers + ".",
            legend_of_marks(rows)]


def wrapped(lines, width):
    return [part for line in lines for part in textwrap.wrap(line, int(width / CHARACTER), break_on_hyphens=False)]


def write(path, about, rows):
    rows = marked(rows)
    panels = Panels(rows)
    width = max(MIN_WIDTH, 2 * LEFT + len(panels.columns) * (panels.width() + GAP[0]) - GAP[0])
    svg, y = "", 52
    for line in wrapped(captions(about, rows), width - 2 * LEFT):
        svg += text(LEFT, y, "tick", line)
        y += LINE
    svg += legend(LEFT, y)
    y += CELL[1] + 22
    for band in panels.bands:
        for along, transport in enumerate(panels.columns):
            svg += panels.draw(transport, band, LEFT + along * (panels.width() + GAP[0]), y)
        y += panels.height() + GAP[1]
    for line in wrapped([about["command"]], width - 2 * LEFT):
        svg += text(LEFT, y, "tick faint", line)
        y += LINE
    curves.write(path, width, y + 8, "Rondo's speed beside the best peer", svg, style())


def main():
    if len(sys.argv) != 3 or sys.argv[1] in ("-h", "--help"):
        print("usage: picture.py RESULTS.json PICTURE.svg", file=sys.stderr)
        return 2
    try:
        write(sys.argv[2], *results.read(sys.argv[1]))
    except results.BadResults as reason:
        print(f"picture.py: {reason}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"picture.py: {sys.argv[2]}: cannot be written: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
