#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of rondo-plan: that they show the messages of a run, all of them, within the page.

Usage: check_plan_pictures.py RONDO_PLAN SOURCE-ROOT SANITIZERS
"""
import functools
import itertools
import math
import os
import re
import unittest
import xml.etree.ElementTree

from plan_command import SOURCE, output, plan

SVG = "{http://www.w3.org/2000/svg}"
TITLE = re.compile(r"(\d+) -> (\d+): ([\d.]+ \w+) of (.+), ([\d.]+) (\w+) to ([\d.]+) (\w+), arrives ([\d.]+) (\w+); "
                   r"lane \d+ step \d+: .*\bsend [\d ]+.*")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
ROUNDED = 1.01

printed = functools.cache(output)  # a machine's plans are found once, not by each test


class Shown:
    """A message of a picture: its element, and what its title says."""

    def __init__(self, element):
        self.element = element
        found = TITLE.fullmatch(element.find(SVG + "title").text)
        self.sender, self.receiver = int(found[1]), int(found[2])
        self.begins, self.ends, self.arrives = (float(found[i]) * UNITS[found[i + 1]] for i in (5, 7, 9))


def picture(*arguments):
    return xml.etree.ElementTree.fromstring(printed("show", *arguments))


def messages(svg):
    return [Shown(element) for element in svg if element.find(SVG + "title") is not None]


def number(element, name):
    return float(element.get(name))


def sends(*arguments):
    """Sender and receiver of every message of a tile, by the plan's steps."""
    return sorted((int(rank), int(to)) for rank, peers in
                  re.findall(r"(?m)^rank (\d+) .*, send ([\d ]+?)(?:,.*)?$", printed("steps", *arguments))
                  for to in peers.split())


PLANS = (("all_reduce=ring", "--ranks", "5"), ("all_gather=forest", "--machine", "dgx-1v"),
         ("broadcast=binomial", "--machine", "hgx-h100", "--root", "3"), ("all_to_all=pairwise", "--ranks", "4"),
         ("reduce_scatter=rings", "--machine", "mi250"), ("barrier=dissemination", "--ranks", "6"))


class Pictures(unittest.TestCase):
    def check_page(self, svg):
        width, height = number(svg, "width"), number(svg, "height")
        for element in svg.iter():
            for name in ("x", "x1", "x2", "y", "y1", "y2"):
                end = width if name[0] == "x" else height
                if element.get(name) is not None:
                    self.assertTrue(0 <= number(element, name) <= end, element.attrib)
        for text in svg.iter(SVG + "text"):
            self.assertTrue(text.text.strip())

    def test_every_message_is_a_line_from_its_sender_to_its_receiver(self):
        for arguments in PLANS:
            svg = picture(*arguments)
            self.check_page(svg)
            shown = messages(svg)
            self.assertEqual(sorted((one.sender, one.receiver) for one in shown), sends(*arguments), arguments)
            ranks = {int(text.text.split()[1]): number(text, "y") - 4 for text in svg.iter(SVG + "text")
                     if re.fullmatch(r"rank \d+", text.text)}
            heights = sorted(ranks.values())
            self.assertGreaterEqual(min(b - a for a, b in itertools.pairwise(heights)), 15, "labels can be read")
            for one in shown:
                x1, y1, x2, y2 = map(float, re.findall(r"[\d.]+", one.element.get("d")))
                self.assertEqual((y1, y2), (ranks[one.sender], ranks[one.receiver]))
                self.assertGreaterEqual(x2, x1)
                self.assertLessEqual(one.ends, one.arrives * ROUNDED)

    def test_lines_are_at_their_times(self):
        svg = picture("all_reduce=ring", "--ranks", "4", "--latency", "100")
        shown = messages(svg)
        last = max(one.arrives for one in shown)
        for one in shown:
            x1, _, x2, _ = map(float, re.findall(r"[\d.]+", one.element.get("d")))
            left, width = 112, 900
            self.assertAlmostEqual(x1, left + width * one.begins / last, delta=6)
            self.assertAlmostEqual(x2, left + width * one.arrives / last, delta=6)
        self.assertIn("ends after", "".join(text.text for text in svg.iter(SVG + "text")))

    def test_bars_of_one_row_do_not_overlap(self):
        for arguments in (("all_reduce=forest", "--machine", "dgx-1v"), ("all_gather=ring", "--ranks", "4", "--bars")):
            svg = picture(*arguments)
            self.check_page(svg)
            shown = messages(svg)
            self.assertEqual(sorted((one.sender, one.receiver) for one in shown),
                             sends(*[word for word in arguments if word != "--bars"]))
            by_row = {}
            for one in shown:
                by_row.setdefault(one.element.get("y"), []).append(one)
            for row in by_row.values():
                self.assertEqual(len({(one.sender, one.receiver) for one in row}), 1)
                row.sort(key=lambda one: number(one.element, "x"))
                for a, b in itertools.pairwise(row):
                    end = number(a.element, "x") + number(a.element, "width")
                    self.assertLessEqual(end, number(b.element, "x") + 0.6)
            labels = [text.text for text in svg.iter(SVG + "text") if re.fullmatch(r"to \d+", text.text)]
            self.assertEqual(len(labels), len(set(sends(*[word for word in arguments if word != "--bars"]))))

    def test_a_moving_picture_has_each_message_once_within_its_time(self):
        for arguments in PLANS:
            svg = picture(*arguments, "--animate")
            self.check_page(svg)
            dots = list(svg.iter(SVG + "circle"))
            self.assertEqual(len(dots), len(sends(*arguments)))
            boxes = {}
            for rect in svg.iter(SVG + "rect"):
                if rect.get("class") == "b":
                    boxes[len(boxes)] = (number(rect, "x") + number(rect, "width") / 2,
                                         number(rect, "y") + number(rect, "height") / 2)
            ends = []
            for dot in dots:
                motion = dot.find(SVG + "animateMotion")
                times = [float(time) for time in motion.get("keyTimes").split(";")]
                self.assertEqual((times[0], times[3]), (0, 1))
                self.assertEqual(times, sorted(times))
                ends.append(times[2])
                x1, y1, x2, y2 = map(float, re.findall(r"[\d.]+", motion.get("path")))
                pair = tuple(min(boxes, key=lambda rank, at=at: math.dist(boxes[rank], at))
                             for at in ((x1, y1), (x2, y2)))
                self.assertIn(pair, sends(*arguments))
                opacity = dot.find(SVG + "animate")
                self.assertEqual(opacity.get("keyTimes").split(";"), motion.get("keyTimes").split(";")[:3])
            self.assertAlmostEqual(max(ends), 0.85, delta=0.001)

    def test_cells_of_an_all_gather_fill_up(self):
        for arguments in (("all_gather=ring", "--ranks", "6"), ("all_gather=forest", "--machine", "dgx-1v")):
            svg = picture(*arguments, "--animate")
            grey = [rect for rect in svg.iter(SVG + "rect") if rect.get("class") == "e" and rect.get("width") == "8"]
            ranks = int(len(grey) ** 0.5)
            self.assertEqual(len(grey), ranks * ranks)
            full = 0
            for rect in svg.iter(SVG + "rect"):
                move = rect.find(SVG + "animate")
                if re.fullmatch(r"c\d+", rect.get("class", "")) and rect.get("height") == "8":
                    widths = rect.get("width") if move is None else move.get("values")
                    self.assertEqual(widths.split(";")[-1], "8")
                    full += 1
            self.assertEqual(full, ranks * ranks)

    def test_too_many_messages_are_refused(self):
        for option, most in (("--bars", 20_000), ("--animate", 5_000)):
            result = plan("show", "all_to_all=direct", "--ranks", "64", "--tiles", "8", option)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stderr, rf"32256 messages are too many .*at most {most}")

    def test_the_documented_picture_is_what_the_command_prints(self):
        with open(os.path.join(SOURCE, "docs", "dgx_1v_all_gather.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), printed("show", "all_gather=forest", "--machine", "dgx-1v", "--animate"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
