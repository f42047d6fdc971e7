# SPDX-License-Identifier: Apache-2.0
"""The colours of speeds: orange is slower than the best peer, blue is faster, which colour-blind readers can tell apart
too; the further from 1, the further from the paper, on white paper and on black."""
import bisect
from dataclasses import dataclass


@dataclass(frozen=True)
class Shade:
    label: str
    light: str
    light_ink: str
    dark: str
    dark_ink: str


EDGES = (1 / 2, 1 / 1.5, 1 / 1.25, 1 / 1.05, 1.05, 1.25, 1.5, 2, 4)
BLACK, WHITE = "#111111", "#ffffff"
SHADES = (
    Shade("< 0.5", "#7f3b08", WHITE, "#ffc27a", BLACK),
    Shade("0.5", "#b35806", WHITE, "#f0923a", BLACK),
    Shade("0.67", "#f0a04b", BLACK, "#a3540c", WHITE),
    Shade("0.8", "#fee0b6", BLACK, "#5f3610", WHITE),
    Shade("0.95", "#f2f2f2", BLACK, "#333333", WHITE),
    Shade("1.05", "#d6e8f5", BLACK, "#1b3a52", WHITE),
    Shade("1.25", "#a5cfe9", BLACK, "#225a85", WHITE),
    Shade("1.5", "#5ea6d3", BLACK, "#4a98d4", BLACK),
    Shade("2", "#2166ac", WHITE, "#85c4f2", BLACK),
    Shade("\u2265 4", "#053061", WHITE, "#c9e6fb", BLACK),
)
LIGHT = {"paper": WHITE, "ink": "#222222", "faint": "#6a6a6a", "line": "#b8b8b8"}
DARK = {"paper": "#0d1117", "ink": "#e6edf3", "faint": "#9aa4af", "line": "#4a525c"}


def number_of(speed):
    """The shade of a speed, by its number in SHADES."""
    return bisect.bisect_right(EDGES, speed)


def rules(paper, fills):
    """CSS; `fills`: a colour and that of the text on it for each shade."""
    css = (f".paper{{fill:{paper['paper']}}}text{{fill:{paper['ink']}}}.faint{{fill:{paper['faint']}}}"
           f".hole{{fill:none;stroke:{paper['line']};stroke-width:0.5}}"
           f".noisy{{fill:none;stroke:{paper['ink']};stroke-width:1.5;stroke-dasharray:3 2}}")
    return css + "".join(f".c{number}{{fill:{fill}}}.i{number}{{fill:{ink}}}"
                         for number, (fill, ink) in enumerate(fills))


def style():
    """CSS for both papers; the reader's browser says which."""
    light = rules(LIGHT, [(shade.light, shade.light_ink) for shade in SHADES])
    dark = rules(DARK, [(shade.dark, shade.dark_ink) for shade in SHADES])
    return f"{light}.cell{{font-size:11px}}.mean{{font-weight:bold}}@media (prefers-color-scheme:dark){{{dark}}}"
