#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rings of rondo-topo, its trees over hosts, and NCCL's graphs, written and read again.

Usage: check_topo_graphs.py RONDO_TOPO SOURCE-ROOT STANDIN_NVML
"""
import os
import re
import tempfile
import time
import unittest

from topo_command import known, output, recorded


SEARCH_SECONDS = 0.7  # a search for rings ends then, with what it has found


class Graphs(unittest.TestCase):
    def test_rings_have_a_line_for_each_channel(self):
        lines = output("--machine", "dgx-1v", "--graph").splitlines()
        self.assertEqual(lines[0], "channel 0: 0 3 2 1 5 6 7 4, 40.0 GB/s")
        self.assertEqual(lines[-2:], ["rings: 120.0 GB/s by 4 channels",
                                      "limit of rings: 120.0 GB/s; of any plan for all_gather: 120.0 GB/s"])
        hosts = output("--machine", "hgx-h100", "--hosts", "2", "--graph")
        self.assertRegex(hosts, r"(?m)^channel 0: host0/gpu\d( host0/gpu\d){7} "
                                r"\(host0/nic mlx5_\d, host1/nic mlx5_\d\) host1/gpu\d( host1/gpu\d){7} "
                                r"\(host1/nic mlx5_\d, host0/nic mlx5_\d\), 48\.0 GB/s$")

    def test_several_hosts_have_two_complementary_trees(self):
        self.assertNotIn("tree", output("--machine", "dgx-1v", "--graph"))
        for hosts in 2, 3, 4, 7, 12, 64:
            lines = output("--machine", "dgx-1v", "--hosts", str(hosts), "--graph").splitlines()[-hosts - 1:]
            self.assertEqual(lines[0], "two trees over the hosts, each for half of a vector:")
            self.assertEqual([line.split(":")[0] for line in lines[1:]], [f"host{host}" for host in range(hosts)])
            parents_of = [dict(re.findall(rf"(?m)^host(\d+): .*below host(\d+) in tree {tree}", "\n".join(lines)))
                          for tree in (0, 1)]
            self.assertEqual(set(parents_of[0].values()) & set(parents_of[1].values()), set())
            for tree, parents in enumerate(parents_of):
                self.assertEqual(len(parents), hosts - 1)
                self.assertEqual(len([line for line in lines if f"root of tree {tree}" in line]), 1)
                self.assertLessEqual(max(list(parents.values()).count(host) for host in parents.values()), 2)
                for host in parents:
                    height = 0
                    while host in parents:
                        host, height = parents[host], height + 1
                        self.assertLess(height, hosts.bit_length() + 1)

    def test_graphs_are_written_for_nccl_and_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.xml")
            for name in known():
                for hosts in "1", "2":
                    machine = ["--machine", name, "--hosts", hosts]
                    begin = time.monotonic()
                    self.assertEqual(output(*machine, "--graph-save", path), "")
                    rings = re.search(r"(?m)^rings: (\S+) GB/s", output(*machine, "--graph")).group(1)
                    both_ended = time.monotonic() - begin < SEARCH_SECONDS
                    loaded = output(*machine, "--graph-load", path)
                    self.assertRegex(loaded,
                                     r"^graph 0, ring: \d+ channels?, stated (\S+) GB/s; here \1 GB/s, limited by")
                    if both_ended:
                        self.assertIn(f"stated {rings} GB/s", loaded)

    def test_graphs_of_nccl_are_evaluated(self):
        path = recorded("nvidia-dgx1v-8xv100", "graphs of NCCL")
        report = output("--load", path, "--graph-load", path.replace(".xml", ".expected-graph.xml"))
        self.assertTrue(report.startswith("graph 0, ring: 6 channels, stated 132.0 GB/s; here 120.0 GB/s, limited by "
                                          "NVLink from gpu0 to gpu1, 20.0 GB/s, and 31 more links\n"), report)


if __name__ == "__main__":
    unittest.main()
