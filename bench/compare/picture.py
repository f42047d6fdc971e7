# SPDX-License-Identifier: Apache-2.0
"""Plots the results: one row per collective, one column per transport and number of ranks. Each cell shows time by
size and, below it, Rondo's speedup over the best peer."""
import curves

TIMES, RATIOS, GAP, LEFT, TOP = (260, 200), (260, 70), (80, 34), 70, 110
BAND = TIMES[1] + RATIOS[1] + 2 * GAP[1] + 16
LEGEND_STEP = 150


def times_panel(rows, names, x, top):
    entries = {name: [(row["bytes"], row["contestants"][name]["median_us"]) for row in rows
                      if name in row["contestants"]] for name in names}
    times = [us for points in entries.values() for _, us in points]
    if not times:
        return curves.text((x.start + x.end) / 2, top + TIMES[1] / 2, "tick middle", "nothing to draw")
    y = curves.Axis(times, top + TIMES[1], top, 10)
    return curves.grid(x, y) + "".join(
        curves.curve(x, y, entries[name], colour) for name, colour in zip(names, curves.COLOURS))


def ratios_panel(rows, x, top):
    points = [(row["bytes"], row["speed"]) for row in rows if row["speed"] is not None]
    if not points:
        return ""
    y = curves.Axis([1 / 2, 2, *(speed for _, speed in points)], top + RATIOS[1], top, 2)
    y.step = max(1, (y.high - y.low) // 3)
    svg = curves.grid(x, y, lambda value: f"{value:g}")
    svg += curves.line(x.start, y.at(1), x.end, y.at(1), "frame")
    return svg + curves.curve(x, y, points, curves.COLOURS[0])


def cell(rows, names, left, top):
    if not rows:
        return ""
    x = curves.size_axis([row["bytes"] for row in rows], left, left + TIMES[0])
    return times_panel(rows, names, x, top) + ratios_panel(rows, x, top + TIMES[1] + GAP[1])


def legend(names):
    svg = ""
    for number, (name, colour) in enumerate(zip(names, curves.COLOURS)):
        left = LEFT + number * LEGEND_STEP
        svg += curves.line(left, 52, left + 28, 52, "curve", curves.stroke(colour))
        svg += curves.text(left + 36, 56, "tick", name)
    return svg


def write(path, about, rows, names):
    rows = [row for row in rows if row["bytes"] > 0]  # a barrier has no size
    columns = list(dict.fromkeys((row["transport"], row["ranks"]) for row in rows))
    machine = f"{about['type']}, {about['processor']}, {about['cores']} cores"
    svg = legend(names) + curves.text(LEFT, 74, "tick", machine + ". Below: the best peer's time / Rondo's")
    collectives = list(dict.fromkeys(row["collective"] for row in rows))
    for down, collective in enumerate(collectives):
        for along, (transport, ranks) in enumerate(columns):
            left, top = LEFT + along * (TIMES[0] + GAP[0]), TOP + down * BAND
            own = [row for row in rows if (row["collective"], row["transport"], row["ranks"])
                   == (collective, transport, ranks)]
            svg += curves.text(left + TIMES[0] / 2, top - 10, "panel middle",
                               f"{collective}, {ranks} ranks, {transport}")
            svg += cell(own, names, left, top)
    width = max(LEFT + max(1, len(columns)) * (TIMES[0] + GAP[0]) - 40, LEFT + len(names) * LEGEND_STEP)
    curves.write(path, width, TOP + len(collectives) * BAND,
                 "Collectives on host memory: time by message size", svg)
