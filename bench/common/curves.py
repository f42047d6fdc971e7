# SPDX-License-Identifier: Apache-2.0
"""Building blocks of SVG plots with logarithmic axes, mostly time by size."""
import math
from html import escape

# Colours that colour-blind readers can distinguish (Okabe and Ito, 2008).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
STYLE = ("text{font-family:'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222}"
         ".title{font-size:18px;font-weight:bold}.panel{font-size:14px;font-weight:bold}.tick{font-size:11px}"
         ".middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#e2e2e2;stroke-width:1}"
         ".frame{fill:none;stroke:#666}.curve{fill:none;stroke-width:2}")


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


def size_axis(sizes, start, end):
    return Axis(sizes, start, end, 2, 6 if math.log2(max(sizes) / min(sizes)) > 8 else 2)


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


def stroke(colour, dash=""):
    return f'stroke="{colour}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def grid(x, y, y_words=time_words, x_words=size_words):
    svg = ""
    for value in x.ticks():
        svg += line(x.at(value), y.start, x.at(value), y.end, "grid")
        svg += text(x.at(value), y.start + 16, "tick middle", x_words(value))
    for value in y.ticks():
        svg += line(x.start, y.at(value), x.end, y.at(value), "grid")
        svg += text(x.start - 6, y.at(value) + 4, "tick end", y_words(value))
    return svg + (f'<rect x="{x.start:.1f}" y="{y.end:.1f}" width="{x.end - x.start:.1f}" '
                  f'height="{y.start - y.end:.1f}" class="frame"/>\n')


def curve(x, y, values, colour, dash=""):
    """values: pairs of numbers on the two axes."""
    points = [(x.at(first), y.at(second)) for first, second in values]
    if not points:
        return ""
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
    return f'<polyline points="{path}" class="curve" {stroke(colour, dash)}/>\n' + "".join(
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.4" fill="{colour}"/>\n' for px, py in points)


def write(path, width, height, title, svg, style=""):
    """style: CSS that adds to STYLE."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                   f'viewBox="0 0 {width} {height}">\n<style>{STYLE}{style}</style>\n'
                   '<rect width="100%" height="100%" fill="white" class="paper"/>\n'
                   + text(width / 2, 28, "title middle", title) + svg + "</svg>\n")
