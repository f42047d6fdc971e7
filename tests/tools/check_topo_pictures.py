#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pictures of rondo-topo: what they show, and that nothing in them covers anything else.

Usage: check_topo_pictures.py RONDO_TOPO SOURCE-ROOT STANDIN_NVML
"""
import functools
import glob
import itertools
import os
import re
import unittest
import xml.etree.ElementTree

from topo_command import DATA, SOURCE, known, output, topo

SVG = "{http://www.w3.org/2000/svg}"
TITLE = re.compile(r"(tree \d+|channel \d+): (.+) to (.+), ([\d.]+) GB/s")
CLOSEST = 3  # pixels between the ends of two lines

printed = functools.cache(output)  # a machine's plans are found once, not by each test


def boxes(svg):
    """The rectangles of a picture, by their text."""
    elements = list(xml.etree.ElementTree.fromstring(svg))
    found = {}
    for rect, text in zip(elements, elements[1:]):
        if rect.tag == SVG + "rect" and rect.get("rx") and text.tag == SVG + "text":
            x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            found[text.text, x, y] = (x, y, x + width, y + height)
    return found


class Line:
    """A line of a picture of trees or rings, as points; and what its title says."""

    def __init__(self, path):
        x = y = None
        self.points = []
        for command, numbers in re.findall(r"([MLHVQ])([-\d. ]+)", path.get("d")):
            numbers = [float(number) for number in numbers.split()]
            x, y = (numbers[0], y) if command == "H" else (x, numbers[0]) if command == "V" else numbers[-2:]
            self.points.append((x, y))
        title = path.find(SVG + "title")
        self.flow, self.start, self.end, self.bandwidth = (
            TITLE.fullmatch(title.text).groups() if title is not None else [None] * 4)

    def horizontals(self):
        """Height, left and right of each, without the rounded corners."""
        return [(a[1], min(a[0], b[0]), max(a[0], b[0])) for a, b in zip(self.points, self.points[1:]) if a[1] == b[1]]


def lines(svg):
    found = [Line(path) for path in xml.etree.ElementTree.fromstring(svg).findall(SVG + "path")]
    assert found, svg
    return found


def by_flow(svg):
    """The lines of each tree or ring, by its name."""
    found = {}
    for line in lines(svg):
        if line.flow is not None:
            found.setdefault(line.flow, []).append(line)
    return found


def machines():
    """Options of every known machine, and of every recorded one with GPUs that reach one another."""
    found = [["--machine", name] for name in known()] + [["--machine", "pcie-8gpu", "--no-p2p"]]
    if DATA is None:
        print("skipped: pictures of recorded machines, since RONDO_TEST_DATA is not set")
    else:
        found += [["--load", path] for path in sorted(glob.glob(f"{DATA}/topologies/*.xml")) if "graph" not in path]
    assert DATA is None or len(found) > 30
    return found


def gpus(machine):
    return int(printed(*machine).split()[0])


class Pictures(unittest.TestCase):
    def test_pictures_have_a_box_for_each_device_and_none_overlap(self):
        for machine in machines():
            found = boxes(printed(*machine, "--svg"))
            tree = printed(*machine)
            for kind in ("gpu", "nic"):
                names = re.findall(rf"(?m)─ ({kind} ?\S+)", tree)
                self.assertLessEqual(set(names), {text for text, _, _ in found}, machine)
            edges = sorted(found.values())
            for i, a in enumerate(edges):
                for b in edges[i + 1:]:
                    apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                    self.assertTrue(apart, f"{machine}: boxes {a} and {b} overlap")

    def test_dot_has_each_link_once(self):
        edges = re.findall(r"(?m)^  (n\d+) -- (n\d+) ", output("--machine", "dgx-1v", "--dot"))
        self.assertEqual(len(edges), len({frozenset(edge) for edge in edges}))
        self.assertEqual(len(edges), 16 + 12 + 4 + 1 + 4)  # NVLink, PCIe of devices and of switches, sockets, network

    def plans(self):
        """Machine, and the picture of the trees of its first and of its last GPU."""
        for machine in machines():
            count = gpus(machine)
            for root in {0, count - 1} if count > 1 else ():
                yield machine, root, printed(*machine, "--svg", "--plan", "--root", str(root))

    def rings(self):
        """Machine, and the picture of its rings."""
        for machine in machines():
            if gpus(machine) > 1:
                yield machine, printed(*machine, "--svg", "--rings")

    def coloured(self):
        """Machine, and each picture of trees or rings."""
        yield from ((machine, svg) for machine, _, svg in self.plans())
        yield from self.rings()

    def test_trees_reach_every_gpu(self):
        for machine, root, svg in self.plans():
            trees = by_flow(svg)
            self.assertTrue(trees, machine)
            for tree in trees.values():
                starts = {line.start for line in tree}
                reached = {f"gpu{root}"} if f"gpu{root}" in starts else starts - {line.end for line in tree}
                self.assertEqual(len(reached), 1, machine)
                for _ in tree:
                    reached |= {line.end for line in tree if line.start in reached}
                reached = [node for node in reached if re.fullmatch(r"gpu\d+", node)]
                self.assertEqual(len(reached), gpus(machine), machine)
            share = r"(?:all|\d of \d parts)"
            legend = re.findall(rf"(tree \d+): {share} of gpu\d+'s block, [\d.]+ GB/s, depth \d+</text>", svg)
            self.assertEqual(set(legend), set(trees), machine)

    def test_rings_lead_from_each_gpu_to_the_next(self):
        for machine, svg in self.rings():
            rings = by_flow(svg)
            legend = re.findall(r">(channel \d+): ([\d ]+), ([\d.]+) GB/s</text>", svg)
            self.assertEqual({name for name, _, _ in legend}, set(rings), machine)
            for name, order, speed in legend:
                order = order.split()
                self.assertEqual({f"gpu{number}" for number in order},
                                 {text for text, _, _ in boxes(svg) if re.fullmatch(r"gpu\d+", text)}, machine)
                for start, end in zip(order, order[1:] + order[:1]):
                    reached = {f"gpu{start}"}
                    for _ in rings[name]:
                        reached |= {line.end for line in rings[name] if line.start in reached}
                    self.assertIn(f"gpu{end}", reached, machine)
                for number in order:
                    sent = sum(float(line.bandwidth) for line in rings[name] if line.start == f"gpu{number}")
                    self.assertGreaterEqual(sent, float(speed) - 0.1 * len(rings[name]), machine)

    def test_rings_of_a_dgx_1v_have_a_line_for_each_of_their_hops(self):
        svg = output("--machine", "dgx-1v", "--svg", "--rings")
        self.assertIn(">dgx-1v: 4 rings at 120.0 GB/s</text>", svg)
        rings = by_flow(svg)
        hops = [(line.start, line.end, line.bandwidth) for line in rings["channel 0"]]
        order = [f"gpu{number}" for number in (0, 3, 2, 1, 5, 6, 7, 4)]
        self.assertEqual(sorted(hops), sorted(zip(order, order[1:] + order[:1], ["40.0"] * 8)))
        self.assertEqual(sum(len(ring) for ring in rings.values()), 4 * 8)
        colours = re.findall(r'<line [^>]*stroke="(#\w+)" stroke-width="3"', svg)
        self.assertEqual(len(set(colours)), 4)
        for colour in colours:
            self.assertEqual(len(re.findall(rf'<path d="[^"]*" stroke="{colour}"', svg)), 8)
        self.assertIn(", crossed by no ring</text>", svg)

    def test_lines_in_colours_do_not_cover_one_another(self):
        for machine, svg in self.coloured():
            found = lines(svg)
            ends = sorted(end for line in found for end in (line.points[0], line.points[-1]))
            for a, b in itertools.pairwise(sorted(ends, key=lambda end: (end[1], end[0]))):
                self.assertTrue(a[1] != b[1] or b[0] - a[0] >= CLOSEST, f"{machine}: lines end at {a} and {b}")
            runs = sorted(run for line in found for run in line.horizontals())
            for a, b in itertools.pairwise(runs):
                self.assertTrue(a[0] != b[0] or a[2] < b[1], f"{machine}: {a} covers {b}")

    def test_lines_in_colours_end_at_boxes_and_cross_none_in_their_row(self):
        for machine, svg in self.coloured():
            edges = list(boxes(svg).values())
            for line in lines(svg):
                for x, y in (line.points[0], line.points[-1]):
                    self.assertTrue(any(left <= x <= right and min(abs(y - top), abs(y - bottom)) < 0.2
                                        for left, top, right, bottom in edges), f"{machine}: {x} {y} is at no box")
                for height, left, right in line.horizontals():
                    self.assertFalse(any(top < height < bottom and left < box_right and box_left < right
                                         for box_left, top, box_right, bottom in edges), f"{machine}: {height}")

    def test_every_link_of_a_machine_is_in_the_picture_of_a_plan(self):
        for machine, links in (("dgx-1v", 16 + 12 + 4 + 1), ("pcie-8gpu", 10 + 2 + 1), ("hgx-h100", 8 + 16 + 4 + 1)):
            svg = output("--machine", machine, "--svg", "--plan")
            found = lines(svg)
            pale = [line for line in found if line.flow is None]
            crossed = {frozenset((line.start, line.end)) for line in found if line.flow is not None}
            self.assertEqual(len(pale) + len(crossed), links, machine)
            self.assertIn("crossed by no tree of gpu0", svg)

    def test_the_documented_picture_is_what_the_command_prints(self):
        with open(os.path.join(SOURCE, "docs", "dgx_1v_plan.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), output("--machine", "dgx-1v", "--svg", "--plan"))

    def test_dot_has_an_edge_for_each_link_of_a_tree_or_ring(self):
        for machine in (["--machine", "dgx-1v"], ["--machine", "hgx-h100", "--hosts", "2"]):
            for option, flow, what in (("--plan", "tree", "tree"), ("--rings", "channel", "ring")):
                graph = printed(*machine, "--dot", option)
                flows = set(re.findall(rf'dir=forward, tooltip="({flow} \d+)"', graph))
                self.assertIn(f"label=<{len(flows)} {what}", graph)
                legend = re.findall(rf'<font color="(#\w+)">({flow} \d+): .*</font>', graph)
                self.assertEqual({name for _, name in legend}, flows)
                for colour, name in legend:
                    self.assertIn(f'color="{colour}", dir=forward, tooltip="{name}"', graph)
                self.assertIn('color="#bdbdbd"', graph)

    def test_a_ring_between_hosts_crosses_the_network(self):
        graph = printed("--machine", "hgx-h100", "--hosts", "2", "--dot", "--rings")
        nodes = dict(re.findall(r'(?m)^  (n\d+) \[label="(.*)"\];$', graph))
        edges = re.findall(r'(?m)^  (n\d+) -- (n\d+) .*dir=forward, tooltip="channel 0"', graph)
        hops = {(nodes[start], nodes[end]) for start, end in edges}
        leaves, enters = re.search(r"channel 0: .*?\((host0/nic \w+), (host1/nic \w+)\)", graph).groups()
        networks = {end for start, end in hops if start == leaves and "network" in end}
        self.assertEqual(len(networks), 1)
        self.assertIn((networks.pop(), enters), hops)

    def test_options_of_pictures_that_make_no_sense_are_refused(self):
        for arguments, text in (
                (["--machine", "dgx-2", "--plan"], "--plan: it needs --svg or --dot"),
                (["--machine", "dgx-2", "--svg", "--plan", "--root", "16"], "--root is 16: expected 0 to 15"),
                (["--machine", "dgx-2", "--svg", "--root", "1"], "--plan"),
                (["--machine", "dgx-2", "--svg", "--plan", "--hosts", "2"], "pictures in colours have one host"),
                (["--machine", "dgx-2", "--rings"], "--rings: it needs --svg or --dot"),
                (["--machine", "dgx-2", "--svg", "--rings", "--plan"], "--plan excludes --rings")):
            result = topo(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(text, result.stderr, arguments)


if __name__ == "__main__":
    unittest.main()
