#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-topo as a user runs it: this host, trees, paths, pictures, files written and read again, and what it refuses.

Usage: check_topo.py RONDO_TOPO STANDIN_NVML
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

TOPO = sys.argv.pop(1)
NVML = sys.argv.pop(1)
DATA = os.environ.get("RONDO_TEST_DATA")
SVG = "{http://www.w3.org/2000/svg}"


def topo(*arguments, **variables):
    return subprocess.run([TOPO, *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **variables})


def output(*arguments, **variables):
    result = topo(*arguments, **variables)
    if result.returncode != 0:
        raise AssertionError(f"rondo-topo {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def known():
    return [line.split()[0] for line in output("--list").splitlines()]


def boxes(svg):
    """The rectangles of a picture, by their text."""
    elements = list(xml.etree.ElementTree.fromstring(svg))
    found = {}
    for rect, text in zip(elements, elements[1:]):
        if rect.tag == SVG + "rect" and rect.get("rx") and text.tag == SVG + "text":
            x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
            found[text.text, x, y] = (x, y, x + width, y + height)
    return found


class Topo(unittest.TestCase):
    def test_this_host_is_described_and_saved(self):
        tree = output()
        self.assertRegex(tree, r"^\d+ GPUs?, \d+ NICs?, \d+ NUMA nodes?; GB/s each way\nnuma")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "host.xml")
            output("--save", path)
            saved = output("--load", path)
        self.assertEqual(*(re.sub(r"(?m)^note: .*\n", "", text) for text in (tree, saved)))

    def test_gpus_of_this_host_are_those_that_nvml_lists_and_cuda_shows(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "host.xml")
            output("--machine", "hgx-h100", "--save", path)
            nvml = {"LD_LIBRARY_PATH": os.path.dirname(NVML), "RONDO_STANDIN_TOPOLOGY": path}
            all_gpus = output(**nvml, CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")
            two_gpus = output(**nvml, CUDA_VISIBLE_DEVICES="3,1")
            limit = output("--limit", **nvml, CUDA_VISIBLE_DEVICES="3,1")
        self.assertEqual(len(re.findall(r"─ gpu\d \S+ +PCIe .*, NVLink x18 370\.8 to nvswitch", all_gpus)), 8)
        bus_ids = dict(re.findall(r"─ (gpu\d) (\S+)", all_gpus))
        self.assertEqual(dict(re.findall(r"─ (gpu\d) (\S+)", two_gpus)),
                         {"gpu0": bus_ids["gpu3"], "gpu1": bus_ids["gpu1"]})
        self.assertRegex(limit, r"(?m)^all_gather +370\.8 ")

    def test_a_template_of_this_host_is_completed(self):
        with tempfile.TemporaryDirectory() as folder:
            path, template = (os.path.join(folder, name) for name in ("host.xml", "template.xml"))
            output("--machine", "pcie-8gpu", "--save", path)
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"(?s)<nic>.*?</nic>|<gpu [^>]*/>", "", file.read())
            with open(template, "w", encoding="utf-8") as file:
                file.write(text)
            self.assertIn("a template, which has 8 PCI devices of class", output("--load", template))
            completed = output("--load", template, LD_LIBRARY_PATH=os.path.dirname(NVML),
                               RONDO_STANDIN_TOPOLOGY=path, CUDA_VISIBLE_DEVICES="0,1,2,3,4,5,6,7")
        gpus, expected = (re.findall(r"─ (gpu\d.*)", tree) for tree in (completed, output("--machine", "pcie-8gpu")))
        self.assertEqual(gpus, expected)
        self.assertIn("a template; 8 GPUs of this host", completed)

    def test_known_machines_have_trees(self):
        self.assertIn("hgx-h100", known())
        for name in known():
            tree = output("--machine", name)
            self.assertRegex(tree, r"^(8|16) GPUs, \d+ NICs, 2 NUMA nodes; GB/s each way\n")
            self.assertEqual(len(re.findall(r"(?m)─ gpu\d+ ", tree)), int(tree.split()[0]))

    def test_a_tree_says_what_joins_a_gpu(self):
        self.assertRegex(output("--machine", "hgx-h100"), r"gpu0 0000:11:00.0 +PCIe x16 48.0, NVLink x18 370.8 to nvsw")
        self.assertRegex(output("--machine", "dgx-1v"),
                         r"gpu0 \S+ +PCIe x16 12.0, NVLink x1 20.0 to gpu1 gpu2, NVLink x2 40.0 to gpu3 gpu4\n")

    def test_paths_have_classes_and_bandwidths(self):
        rows = [re.split(r"  +", line) for line in output("--machine", "dgx-1v", "--paths").splitlines()]
        self.assertEqual(rows[0][1:9], [f"gpu{gpu}" for gpu in range(8)])
        self.assertEqual(rows[1][:6], ["gpu0", "LOC", "NVL 20.0", "NVL 20.0", "NVL 40.0", "NVL 40.0"])
        self.assertEqual(rows[1][9:], ["PIX 12.0", "PXN 12.0", "PXN 12.0", "SYS 6.0"])

    def test_limits_name_what_they_are_due_to(self):
        table = output("--machine", "pcie-8gpu", "--limit")
        self.assertRegex(table, r"(?m)^all_reduce +17\.5 +17\.5  1 socket link from numa1 to numa0, 10\.0 GB/s$")
        self.assertRegex(output("--machine", "dgx-1v", "--limit"),
                         r"(?m)^all_gather +120\.0 +132\.0  6 NVLinks into gpu0, 120\.0 GB/s, as for each of 8 GPUs$")
        self.assertIn("plan for all_gather: 370.8 GB/s by 8 trees, 1 part of each block, depth 1\n",
                      output("--machine", "hgx-h100", "--limit"))
        self.assertRegex(table, r"(?m)^all_to_all .*\(plans may not reach it\)$")

    def test_rings_have_a_line_for_each_channel(self):
        lines = output("--machine", "dgx-1v", "--graph").splitlines()
        self.assertEqual(lines[0], "channel 0: 0 3 2 1 5 6 7 4, 40.0 GB/s")
        self.assertEqual(lines[-2:], ["rings: 120.0 GB/s by 4 channels",
                                      "limit of rings: 120.0 GB/s; of any plan for all_gather: 120.0 GB/s"])
        hosts = output("--machine", "hgx-h100", "--hosts", "2", "--graph")
        self.assertRegex(hosts, r"(?m)^channel 0: host0/gpu\d( host0/gpu\d){7} "
                                r"\(host0/nic mlx5_\d, host1/nic mlx5_\d\) host1/gpu\d( host1/gpu\d){7} "
                                r"\(host1/nic mlx5_\d, host0/nic mlx5_\d\), 48\.0 GB/s$")

    def test_graphs_are_written_for_nccl_and_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.xml")
            for name in known():
                for hosts in "1", "2":
                    machine = ["--machine", name, "--hosts", hosts]
                    self.assertEqual(output(*machine, "--graph-save", path), "")
                    rings = re.search(r"(?m)^rings: (\S+) GB/s", output(*machine, "--graph")).group(1)
                    self.assertRegex(
                        output(*machine, "--graph-load", path),
                        rf"^graph 0, ring: \d+ channels?, stated {rings} GB/s; here {rings} GB/s, limited by")

    def test_graphs_of_nccl_are_evaluated(self):
        if DATA is None:
            self.skipTest("RONDO_TEST_DATA is not set")
        file = f"{DATA}/topologies/nvidia-dgx1v-8xv100"
        report = output("--load", file + ".xml", "--graph-load", file + ".expected-graph.xml")
        self.assertTrue(report.startswith("graph 0, ring: 6 channels, stated 132.0 GB/s; here 120.0 GB/s, limited by "
                                          "NVLink from gpu0 to gpu1, 20.0 GB/s, and 31 more links\n"), report)

    def test_what_is_saved_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.xml")
            for name in known():
                output("--machine", name, "--save", path)
                self.assertEqual(output("--load", path), output("--machine", name), name)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), output("--load", path, "--save", "-"))

    def test_hosts_are_joined_by_the_network(self):
        tree = output("--machine", "pcie-8gpu", "--hosts", "2")
        self.assertTrue(tree.startswith("16 GPUs, 4 NICs, 4 NUMA nodes"))
        self.assertIn("host1/gpu7", tree)
        self.assertIn("NET 12.5", output("--machine", "pcie-8gpu", "--hosts", "2", "--paths"))

    def test_without_p2p_paths_go_through_the_cpu(self):
        self.assertIn("PIX 24.0", output("--machine", "pcie-8gpu", "--paths"))
        without = output("--machine", "pcie-8gpu", "--no-p2p", "--paths")
        self.assertNotIn("PIX", without)
        self.assertIn("PHB 20.0", without)

    def test_pictures_have_a_box_for_each_device_and_none_overlap(self):
        machines = [["--machine", name] for name in known()]
        if DATA is None:
            print("skipped: pictures of recorded machines, since RONDO_TEST_DATA is not set")
        else:
            machines += [["--load", path] for path in sorted(glob.glob(f"{DATA}/topologies/*.xml"))
                         if "graph" not in path]
        self.assertTrue(DATA is None or len(machines) > 30)
        for machine in machines:
            found = boxes(output(*machine, "--svg"))
            tree = output(*machine)
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

    def test_what_was_guessed_is_said(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write('<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="'
                       '85">\n<pci busid="0000:3b:00.0" class="0x030200" link_speed="" link_width="0">'
                       '<gpu dev="0" sm="80" rank="0"/></pci></cpu></system>\n')
            file.flush()
            self.assertIn(f"note: {file.name}:2: the speed of the PCIe link of 0000:3b:00.0 is not known",
                          output("--load", file.name))

    def test_what_makes_no_sense_is_refused(self):
        for arguments, code, text in (
                (["--machine", "hgx-h10"], 1, "did you mean hgx-h100?"),
                (["--load", "/nowhere/at/all.xml"], 1, "/nowhere/at/all.xml: No such file or directory"),
                (["--load", "/dev/null"], 1, "/dev/null"),
                (["--machine", "dgx-2", "--hosts", "0"], 2, "--hosts"),
                (["--machine", "dgx-2", "--load", "x"], 2, "--machine"),
                (["--machine", "dgx-2", "--save", "/nowhere/all.xml"], 1, "/nowhere/all.xml: No such file"),
                (["--machine", "dgx-2", "--graph-load", "/dev/null"], 1, "/dev/null:1: not well-formed XML"),
                (["--machine", "dgx-2", "--graph-save", "/nowhere/all.xml"], 1, "/nowhere/all.xml: No such file"),
                (["--nonsense"], 2, "--nonsense")):
            result = topo(*arguments)
            self.assertEqual(result.returncode, code, arguments)
            self.assertIn(text, result.stdout + result.stderr, arguments)


if __name__ == "__main__":
    unittest.main()
