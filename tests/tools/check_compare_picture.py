#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The heat map that bench/compare draws of its results, and what it says of results that it cannot draw.

Usage: check_compare_picture.py SOURCE_ROOT
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest
from xml.dom import minidom

from compare_folder import FOLDER, ROOT

import picture
import shades

PROGRAM = os.path.join(FOLDER, "picture.py")
ABOUT = {"date": "2026-11-28", "command": "compare.py --peers mpich <&> --json x.json", "processor": "Some CPU",
         "cores": 2, "type": "float", "fresh": True, "contestants": {"rondo": "rondo-perf 0.0", "mpich": "MPICH 9.1"}}


def row(collective, ranks, size, speed, noise=(), state="near"):
    """A cell, measured in seven rounds; `noise`: factors of the peer's first ones."""
    factors = [*noise, *[1.0] * (7 - len(noise))]
    times = {"rondo": [2.0] * 7, "mpich": [2 * speed * factor for factor in factors]}
    return {"transport": "shm", "collective": collective, "ranks": ranks, "bytes": size, "state": state,
            "best_peer": "mpich", "speed": speed,
            "contestants": {name: {"median_us": sorted(rounds)[3], "rounds_us": rounds}
                            for name, rounds in times.items()}}


def results():
    """Faster, equal, slower, noisy, of few rounds, failed and missing cells, and both states."""
    few, failed = row("reduce", 2, 4096, 1.4), row("reduce", 4, 64, 1.0)
    for one in few["contestants"].values():
        one["rounds_us"] = one["rounds_us"][:3]
    failed.update(best_peer=None, speed=None, contestants={"rondo": failed["contestants"]["rondo"]})
    return {"about": copy.deepcopy(ABOUT), "rows": [
        row("all_reduce", 2, 64, 2.5), row("all_reduce", 2, 4096, 0.97), row("reduce", 2, 64, 0.4),
        few, row("all_reduce", 4, 64, 1.2, (0.5, 1.8), "far"), failed, row("barrier", 2, 0, 12.3)]}


class Picture(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.source, self.target = (os.path.join(made.name, name) for name in ("x.json", "x.svg"))

    def draw(self, document, code=0):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))
        return self.draw_file(self.source, code)

    def draw_file(self, path, code=0):
        result = subprocess.run([sys.executable, PROGRAM, path, self.target], text=True, capture_output=True,
                                timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return result.stderr

    def svg(self):
        return minidom.parse(self.target)

    def texts(self):
        return [node.firstChild.data for node in self.svg().getElementsByTagName("text")]

    def shade_of(self, words):
        """The number of the colour of the cell with these words."""
        found = [node for node in self.svg().getElementsByTagName("text")
                 if node.firstChild.data == words and "cell" in node.getAttribute("class")]
        box = found[-1].parentNode.getElementsByTagName("rect")[0]  # after those of the legend
        return int(box.getAttribute("class")[1:])


class Cells(Picture):
    def test_every_cell_has_its_number_and_the_page_says_what_it_is(self):
        self.draw(results())
        texts = self.texts()
        for words in ("2 ranks, shm", "4 ranks, shm", "all_reduce", "reduce", "barrier", "64 B", "4 Ki", "all sizes",
                      "2.5", "0.97", "0.40", "12", "Rondo's speed beside the best peer", ABOUT["command"]):
            self.assertIn(words, texts)
        said = " ".join(texts)
        for words in ("Some CPU, 2 cores; 2026-11-28; float, fresh inputs; CPUs near in 6 cells, far in 1 cells",
                      "rondo: rondo-perf 0.0; mpich: MPICH 9.1", "median of 3 to 7 rounds", "faster", "slower"):
            self.assertIn(words, said)

    def test_what_is_noisy_failed_or_missing_says_so(self):
        self.draw(results())
        texts, said = self.texts(), " ".join(self.texts())
        # Lines of one size have the same cell under all sizes.
        self.assertEqual([words for words in texts if words[0] in "~?\u00d7" and len(words) < 6],
                         ["?1.40", "~1.20", "~1.20", "\u00d7", "\u00d7"])
        frames = [node for node in self.svg().getElementsByTagName("rect") if node.getAttribute("class") == "noisy"]
        self.assertEqual(len(frames), 2)
        self.assertEqual(texts.count("\u2013"), 5)  # of 4 ranks: 4 KiB, and the barrier
        for words in ("noisy, the 95 % interval is wide (1 of 6 cells)", "?: fewer than the 6 rounds",
                      "\u00d7: nothing to compare", "\u2013: not measured"):
            self.assertIn(words, said)
        self.assertIn("all_reduce (far)", texts)

    def test_results_without_intervals_say_it_once(self):
        document = results()
        for one in document["rows"]:
            for contestant in one["contestants"].values():
                contestant["rounds_us"] = contestant["rounds_us"][:3]
        self.draw(document)
        self.assertIn("No cell has the 6 rounds that tell its noise.", " ".join(self.texts()))
        self.assertFalse([words for words in self.texts() if words[0] in "~?"])

    def test_colours_follow_the_speed(self):
        self.draw(results())
        slow, equal, fast = (self.shade_of(words) for words in ("0.40", "0.97", "2.5"))
        self.assertEqual((slow, equal, shades.SHADES[fast].label), (0, len(shades.SHADES) // 2 - 1, "2"))
        self.assertEqual(shades.number_of(1e9), len(shades.SHADES) - 1)
        self.assertEqual(len(shades.EDGES), len(shades.SHADES) - 1)

    def test_a_single_collective_has_a_line_for_each_number_of_ranks(self):
        document = results()
        document["rows"] = [one for one in document["rows"] if one["collective"] == "all_reduce"]
        self.draw(document)
        self.assertIn("all_reduce, shm", self.texts())
        self.assertIn("4 ranks (far)", self.texts())

    def test_pointing_at_a_cell_tells_the_times(self):
        self.draw(results())
        titles = [node.firstChild.data for node in self.svg().getElementsByTagName("title")]
        self.assertIn("all_reduce, 2 ranks, 64 B, shm: rondo 2 us; mpich 5 us; best peer mpich, 95 % interval 2.50 to "
                      "2.50", titles)
        self.assertIn("geometric mean of 2 sizes", titles)

    def test_the_committed_results_can_be_drawn(self):
        found = [path for path in glob.glob(os.path.join(ROOT, "bench/results/host*.json"))]
        self.assertTrue(found)
        for path in found:
            with self.subTest(path=path):
                self.draw_file(path)
                self.assertGreater(len(self.texts()), 20)


class Colours(unittest.TestCase):
    def test_numbers_can_be_read_on_every_colour_by_day_and_by_night(self):
        for shade in shades.SHADES:
            for paper, ink in (shade.light, shade.light_ink), (shade.dark, shade.dark_ink):
                self.assertGreater(contrast(paper, ink), 4.5, (shade.label, paper))
        for colours in shades.LIGHT, shades.DARK:
            for name in "ink", "faint":
                self.assertGreater(contrast(colours["paper"], colours[name]), 4.5, colours)
        self.assertIn("@media (prefers-color-scheme:dark)", shades.style())

    def test_colours_differ_in_lightness_too_from_the_middle_outwards(self):
        middle = len(shades.EDGES) // 2
        for name, sign in ("light", -1), ("dark", 1):
            lights = [sign * lightness(getattr(shade, name)) for shade in shades.SHADES]
            for half in lights[middle:], lights[middle::-1]:
                self.assertEqual(half, sorted(half), name)

    def test_speeds_near_1_are_not_rounded_to_it(self):
        self.assertEqual([picture.speed_words(speed) for speed in (0.966, 1.034, 1.96, 2.04, 9.94, 9.96, 123.4)],
                         ["0.97", "1.03", "1.96", "2.0", "9.9", "10", "123"])


def lightness(colour):
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def contrast(one, other):
    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


class Refused(Picture):
    def damaged(self, change):
        document = results()
        change(document)
        return self.draw(document, 2)

    def test_each_fault_by_file_and_field(self):
        def first(document):
            return document["rows"][0]

        cases = {
            "about: has no field date": lambda all_: all_["about"].pop("date"),
            'about: cores: is "two": it must be a whole number': lambda all_: all_["about"].update(cores="two"),
            "about: contestants: has no rondo": lambda all_: all_["about"]["contestants"].pop("rondo"),
            "about: is []: it must be an object": lambda all_: all_.update(about=[]),
            ": has no field rows": lambda all_: all_.pop("rows"),
            "rows: is empty": lambda all_: all_["rows"].clear(),
            "rows[0]: is 7: it must be an object": lambda all_: all_.update(rows=[7]),
            "rows[0]: has no field bytes": lambda all_: first(all_).pop("bytes"),
            'rows[0].bytes: is "8": it must be a whole number': lambda all_: first(all_).update(bytes="8"),
            "rows[0].bytes: is -8: it must be at least 0": lambda all_: first(all_).update(bytes=-8),
            "rows[0].ranks: is true: it must be a whole number": lambda all_: first(all_).update(ranks=True),
            "rows[0].collective: is 'sum': it must be one of all_reduce,": lambda all_: first(all_).update(
                collective="sum"),
            "rows[0].transport: is 'ib': it must be one of shm, tcp": lambda all_: first(all_).update(transport="ib"),
            "rows[0].state: is \"hot\": it must be near, far or null": lambda all_: first(all_).update(state="hot"),
            "rows[0].speed: is 0: it must be above 0": lambda all_: first(all_).update(speed=0),
            "rows[0].speed: is NaN: it must be a number": lambda all_: first(all_).update(speed=float("nan")),
            "rows[0].best_peer: is 'ucc', which is not among the contestants of the row": lambda all_: first(
                all_).update(best_peer="ucc"),
            "rows[0].contestants: lam: is not among the contestants that about names": lambda all_: first(
                all_)["contestants"].update(lam={"median_us": 1, "rounds_us": [1]}),
            "rows[0].contestants: mpich: has no field median_us": lambda all_: first(
                all_)["contestants"]["mpich"].pop("median_us"),
            "rows[0].contestants: mpich: rounds_us: is empty": lambda all_: first(
                all_)["contestants"]["mpich"]["rounds_us"].clear(),
            "rows[7]: is of the same collective, ranks and size as a row before it": lambda all_: all_["rows"].append(
                first(all_)),
        }
        for said, change in cases.items():
            with self.subTest(said=said):
                message = self.damaged(change)
                self.assertTrue(message.startswith(f"picture.py: {self.source}: "), message)
                self.assertIn(said, message)
                self.assertEqual(message.count("\n"), 1)
        self.assertFalse(os.path.exists(self.target))

    def test_a_time_that_is_none(self):
        message = self.damaged(lambda all_: all_["rows"][0]["contestants"]["mpich"]["rounds_us"].insert(1, None))
        self.assertIn("rows[0].contestants: mpich: rounds_us[1]: is null: it must be a number", message)

    def test_what_is_no_json_or_cannot_be_read_or_written(self):
        self.assertRegex(self.draw('{"about": {', 2), "x.json: is not JSON: .* line 1 column")
        self.assertRegex(self.draw("[1]", 2), r"x.json: is \[1\]: it must be an object")
        self.assertIn("no-such.json: cannot be read: No such file", self.draw_file("no-such.json", 2))
        self.target = os.path.join(os.path.dirname(self.target), "no/x.svg")
        self.assertIn("x.svg: cannot be written: No such file", self.draw(results(), 2))
        usage = subprocess.run([sys.executable, PROGRAM], text=True, capture_output=True, timeout=60)
        self.assertEqual((usage.returncode, usage.stderr), (2, "usage: picture.py RESULTS.json PICTURE.svg\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
