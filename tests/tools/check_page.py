#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of rondo-perf --plot: all figures are in it, it loads nothing, and in a browser its curves can be examined.

Usage: check_page.py RONDO_PERF
"""
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PERF = sys.argv.pop(1)
BROWSER = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser",
                                               "google-chrome"))), None)
HOSTILE = "</script><b title=\"x\">&amp;'"
LOADING = {"src", "href", "srcset", "action", "data", "poster", "background", "style"}


class Page(html.parser.HTMLParser):
    """The elements of a page: tags, attributes, the texts of table cells by line, and what scripts and styles hold."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.lines, self.headings, self.rules = [], [], {}, [], ""
        self.facts, self.text, self.open = {}, "", []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        self.text = ""
        if tag == "tr":
            self.cells, self.line = [], dict(attrs).get("id")

    def handle_data(self, data):
        self.text += data

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.cells.append(self.text)
        elif tag in ("script", "style"):
            self.rules += self.text
        elif tag == "tr" and self.line:
            self.lines[self.line] = dict(zip(self.headings, self.cells))
        elif tag == "tr" and len(self.cells) == 2:
            self.facts[self.cells[0]] = self.cells[1]
        elif tag == "tr":
            self.headings = self.cells


def perf(*arguments, **variables):
    return subprocess.run([PERF, *arguments], capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={**os.environ, **variables})


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path, cls.rows = (os.path.join(cls.folder.name, name) for name in ("<i>&'.html", "rows.json"))
        cls.result = perf("all_reduce,all_to_all", "--ranks", "2", "-b", "8", "-e", "4K", "-f", "8", "-n", "5",
                          "-w", "1", "-d", "float,half", "-I", "1", "--memory", "host", "--plot", cls.path,
                          "--json", cls.rows, NCCL_NOTE=HOSTILE)
        cls.text, cls.document = read(cls.path), json.loads(read(cls.rows))
        cls.page = Page(cls.text)

    def test_all_figures_are_in_the_table(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        lines = dict(self.page.lines)
        for index, row in enumerate(self.document["results"]):
            for form, name in (("out", "out_of_place"), ("in", "in_place")):
                line = lines.pop(f"{form}-{index}", None)
                self.assertEqual(line is None, row[name] is None)
                if line is None:
                    continue
                of_iterations = row[name + "_per_iter"]
                self.assertEqual((line["collective"], line["type"], line["bytes"], line["count"]),
                                 (row["collective"], row["type"], str(row["size"]), str(row["count"])))
                for heading, value in (("time, µs", row[name]["time"]), ("fastest, µs", of_iterations["min_us"]),
                                       ("algorithm bandwidth, GB/s", row[name]["alg_bw"]),
                                       ("bus bandwidth, GB/s", row[name]["bus_bw"]),
                                       ("p50, µs", of_iterations["p50_us"]),
                                       ("p95, µs", of_iterations["p95_us"]), ("p99, µs", of_iterations["p99_us"]),
                                       ("slowest, µs", of_iterations["max_us"])):
                    self.assertAlmostEqual(float(line[heading]), value, delta=abs(value) * 1e-5, msg=heading)
        self.assertEqual(lines, {})

    def test_where_when_and_how_are_on_it(self):
        facts = self.page.facts
        for part in ("machine", "config"):
            for key, value in self.document[part].items():
                shown = facts[f"{part}, {key}"]
                self.assertEqual(shown, value if isinstance(value, str) else
                                 "unknown" if value is None else json.dumps(value), key)
        for key in ("date", "start_time", "end_time", "rondo_version"):
            self.assertEqual(facts[key], self.document[key])
        self.assertEqual(facts["env"].splitlines(), self.document["env"])
        self.assertIn("--plot '" + self.path.replace("'", "'\\''") + "'", facts["args"])
        self.assertEqual((facts["ranks"], facts["transport"], facts["memory"]), ("2", "shm", "host"))

    def test_nothing_is_loaded_and_names_are_text(self):
        self.assertIn(HOSTILE, self.page.facts["env"])
        self.assertFalse({"b", "i", "link", "img", "iframe", "object", "embed", "base", "form"} & set(self.page.tags))
        self.assertEqual(self.page.tags.count("script"), 1)
        self.assertEqual([(key, value) for key, value in self.page.attributes
                          if key in LOADING or key.startswith("on") or "//" in (value or "")], [])
        self.assertIsNone(re.search(r"url\(|@import|fetch\(|XMLHttp|innerHTML|eval\(", self.page.rules))
        self.assertEqual(set(re.findall(r"https?://[^\"]*", self.page.rules)), {"http://www.w3.org/2000/svg"})
        self.assertIn("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'",
                      [value for key, value in self.page.attributes if key == "content"])

    def test_curves_of_both_forms_with_their_spread_are_in_it(self):
        groups = re.findall(r'<g class="c\d( in-place)?" data-curve="(\d)"', self.text)
        self.assertEqual(sorted(groups), sorted(2 * [("", "0"), ("", "1"), ("", "2"), ("", "3"), (" in-place", "0"),
                                                     (" in-place", "1")]))
        self.assertEqual(self.text.count('class="spread"'), len(groups))
        dots = re.findall(r'class="dot" data-row="(\d+)"', self.text)
        self.assertEqual(len(dots), 2 * len(self.page.lines))

    def test_two_runs_are_compared_on_a_page(self):
        path = os.path.join(self.folder.name, "both.html")
        result = perf("compare", self.rows, self.rows, "--plot", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        page = Page(read(path))
        self.assertEqual({line["run"] for line in page.lines.values()}, {"A", "B"})
        for run in "AB":
            lines = [dict(line, run="") for line in page.lines.values() if line["run"] == run]
            self.assertEqual(lines, [dict(line, run="") for line in self.page.lines.values()])
        of_lines = ("cache line, ns", "cache line after, ns", "state of the machine")
        self.assertEqual([page.facts.get(name) for name in of_lines], [self.page.facts.get(name) for name in of_lines])
        self.assertIn(f"A, {self.rows}", read(path))
        samples = re.findall(r'class="curve (c\d)" stroke="\S+"(.*)/>\n</svg><span>([AB]), ([^<]*)', read(path))
        colours = {run: {call: colour for colour, _, of, call in samples if of == run} for run in "AB"}
        self.assertEqual((colours["A"], len(colours["A"])), (colours["B"], 4))
        self.assertEqual({dash for _, dash, run, _ in samples if run == "A"}, {""})
        self.assertEqual({dash for _, dash, run, _ in samples if run == "B"}, {' stroke-dasharray="2 3"'})
        for words, said in ((["--plot", "/nowhere/x.html"], "cannot write /nowhere/x.html"),
                            (["--plot", "x.png"], "as SVG or as HTML"), (["--plot"], "usage")):
            result = perf("compare", self.rows, self.rows, *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(said, result.stderr)

    @unittest.skipIf(BROWSER is None, "there is no Chromium")
    def test_a_browser_shows_values_and_switches_curves(self):
        path = os.path.join(self.folder.name, "examined.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text + EXAMINATION)
        shown = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
                                f"--user-data-dir={self.folder.name}", "file://" + path],
                               text=True, capture_output=True, timeout=100).stdout
        said = re.search(r"<title>([^<]*)", shown)[1]
        line = self.page.lines["out-0"]
        self.assertEqual(json.loads(said.replace("&quot;", '"')), {
            "errors": [], "visible": [0, 4, 6, 0, 2], "name": line["collective"] + ", float sum",
            "values": [line["size"], line["algorithm"], line["form"], line["time, µs"]],
            "next": self.page.lines["out-1"]["time, µs"]})


# Says in the title what a user sees, after switching curves, pointing at a value and pressing a key.
EXAMINATION = """<script>
const errors = [], visible = [];
const count = () => visible.push(document.querySelectorAll("svg.chart g[data-curve]:not([hidden])").length / 2);
const press = id => document.getElementById(id).click();
addEventListener("error", event => errors.push(event.message));
press("none"); count();
press("all"); count();
press("form-in"); count();
press("none"); count();
press("curve-0"); count();
const chart = document.querySelector("svg.chart");
const dot = chart.querySelector('g[data-form="out"] .dot').getBoundingClientRect();
chart.dispatchEvent(new PointerEvent("pointermove", {clientX: dot.x + 3, clientY: dot.y + 3}));
const values = () => [...document.querySelectorAll("#point dd")].map(each => each.textContent);
const name = document.querySelector("#point strong").textContent, first = values().slice(0, 4);
chart.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
document.title = JSON.stringify({errors, visible, name, values: first, next: values()[3]});
</script>
"""


if __name__ == "__main__":
    unittest.main(verbosity=1)
