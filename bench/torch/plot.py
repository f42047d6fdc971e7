"""A picture of the results: one panel for each collective, time over size, both axes logarithmic."""
import math
from html import escape

PANEL, GAP, LEFT, TOP, COLUMNS = (260, 220), (80, 76), 70, 86, 3
# Colours that remain apart for colour-blind readers (Okabe and Ito, 2008): the backend's and the baseline's.
COLOURS = {"backend": "#0072b2", "baseline": "#d55e00"}
DASHES = ("", "7 4", "2 3", "9 3 2 3")  # by number of ranks
STYLE = ("text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222}.title{font-size:18px;font-weight:bold}"
         ".panel{font-size:14px;font-weight:bold}.tick{font-size:11px}.middle{text-anchor:middle}.end{text-anchor:end}"
         ".grid{stroke:#e2e2e2;stroke-width:1}.frame{fill:none;stroke:#666}.curve{fill:none;stroke-width:2}")


class Axis:
    """A logarithmic axis from one pixel to another."""

    def __init__(self, values, start, end, base, step=1):
        self.low = math.floor(math.log(min(values), base) + 1e-9)
        self.high = max(math.ceil(math.log(max(values), base) - 1e-9), self.low + 1)
        self.start, self.end, self.base, self.step = start, end, base, step

    def at(self, value):
        part = (math.log(value, self.base) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        return [self.base ** power for power in range(self.low, self.high + 1, self.step)]


def size_words(value):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:g} {unit}"
        value /= 1024
    return f"{value:g} TiB"


def time_words(value):
    for unit in ("µs", "ms", "s"):
        if value < 1000:
            return f"{value:g} {unit}"
        value /= 1000
    return f"{value:g} ks"


def text(x, y, style, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{escape(words)}</text>\n'


def line(x1, y1, x2, y2, style, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{style}" {more}/>\n'


def stroke(role, number):
    dash = DASHES[number % len(DASHES)]
    return f'stroke="{COLOURS[role]}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def grid(x, y):
    svg = ""
    for value in x.ticks():
        svg += line(x.at(value), y.start, x.at(value), y.end, "grid")
        svg += text(x.at(value), y.start + 16, "tick middle", size_words(value))
    for value in y.ticks():
        svg += line(x.start, y.at(value), x.end, y.at(value), "grid")
        svg += text(x.start - 6, y.at(value) + 4, "tick end", time_words(value))
    return svg + (f'<rect x="{x.start:.1f}" y="{y.end:.1f}" width="{x.end - x.start:.1f}" '
                  f'height="{y.start - y.end:.1f}" class="frame"/>\n')


def curves(rows, all_ranks, x, y):
    svg = ""
    for number, ranks in enumerate(all_ranks):
        for role in COLOURS:
            points = [(x.at(row["bytes"]), y.at(row[role + "_us"])) for row in rows
                      if row["ranks"] == ranks and row[role + "_us"]]
            if points:
                path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
                svg += f'<polyline points="{path}" class="curve" {stroke(role, number)}/>\n'
                svg += "".join(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.4" fill="{COLOURS[role]}"/>\n'
                               for px, py in points)
    return svg


def panel(number, name, rows, all_ranks):
    left = LEFT + number % COLUMNS * (PANEL[0] + GAP[0])
    top = TOP + number // COLUMNS * (PANEL[1] + GAP[1])
    times = [row[role + "_us"] for row in rows for role in COLOURS if row[role + "_us"]]
    svg = text(left + PANEL[0] / 2, top - 10, "panel middle", name)
    if not times:
        return svg + text(left + PANEL[0] / 2, top + PANEL[1] / 2, "tick middle", "nothing to draw")
    sizes = [row["bytes"] for row in rows]
    wide = math.log2(max(sizes) / min(sizes)) > 8
    x = Axis(sizes, left, left + PANEL[0], 2, 6 if wide else 2)
    y = Axis(times, top + PANEL[1], top, 10)
    return svg + grid(x, y) + curves(rows, all_ranks, x, y)


def legend(about, all_ranks, top):
    svg, left = "", LEFT
    for number, ranks in enumerate(all_ranks):
        for role in COLOURS:
            svg += line(left, top, left + 28, top, "curve", stroke(role, number))
            svg += text(left + 36, top + 4, "tick", f"{about[role]}, {ranks} ranks")
            left += 190
    return svg


def write(path, about, rows):
    names = [name for name in dict.fromkeys(row["collective"] for row in rows) if name != "ddp_step"]
    all_ranks = list(dict.fromkeys(row["ranks"] for row in rows))
    height = TOP + math.ceil(max(1, len(names)) / COLUMNS) * (PANEL[1] + GAP[1]) + 10
    width = LEFT + COLUMNS * (PANEL[0] + GAP[0]) - 40
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}">\n<style>{STYLE}</style>\n'
           '<rect width="100%" height="100%" fill="white"/>\n')
    title = f"torch.distributed: {about['backend']} and {about['baseline']}, time of a call over its size"
    svg += text(width / 2, 28, "title middle", title)
    svg += legend(about, all_ranks, 52)
    for number, name in enumerate(names):
        svg += panel(number, name, [row for row in rows if row["collective"] == name], all_ranks)
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg + "</svg>\n")
