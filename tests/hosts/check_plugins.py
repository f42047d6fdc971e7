#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_plugins.py RONDO_PERF: a network plugin between hosts, the tests' own, in the folder RONDO_TEST_NET_FOLDER."""
import os
import tempfile
import unittest

from host_ranks import fabric_warnings, right_rows, start
from network import Network, main


class Plugins(unittest.TestCase):
    def run_perf(self, words=("all_reduce", "-e", "64K"), addresses=("10.77.0.1", "10.77.0.2"), of_hosts=({}, {}),
                 plugin="test11"):
        """Two ranks on each of two hosts, whose plugins listen at these addresses. Returns what all have printed to
        standard error, and the transports that were used."""
        file = f"{os.environ['RONDO_TEST_NET_FOLDER']}/libnccl-net-{plugin}.so"
        with tempfile.TemporaryDirectory() as folder, Network(2) as hosts:
            ended = start(hosts, 2, [*words, "-b", "8", "-f", "64", "-n", "2", "--json", f"{folder}/rows.json"],
                          of_hosts=[{"RONDO_TEST_NET_ADDRESS": addresses[i], "RONDO_NET_PLUGIN": file, **of_hosts[i]}
                                    for i in (0, 1)], RONDO_IB_PORTS="none")
            log = "".join(log for (_, log), _ in ended)
            self.assertEqual([code for _, code in ended], [0] * 4, log)
            rows = right_rows(self, f"{folder}/rows.json")
        return log, {row["transport"] for row in rows}

    def test_a_plugin_that_both_hosts_have_is_used_unasked(self):
        for plugin in ("test8", "test11"):
            log, used = self.run_perf(("all", "-e", "1M"), plugin=plugin)
            self.assertEqual(used, {"plugin+shm"}, log)
            self.assertEqual(fabric_warnings(log), [])

    def test_hosts_of_which_one_has_no_plugin_use_tcp_and_need_no_words(self):
        log, used = self.run_perf(of_hosts=({}, {"RONDO_NET_PLUGIN": "none"}))
        self.assertEqual(used, {"shm+tcp"}, log)
        self.assertEqual(fabric_warnings(log), [])

    def test_a_plugin_that_cannot_be_loaded_is_named_and_tcp_is_used(self):
        log, used = self.run_perf(of_hosts=({}, {"RONDO_NET_PLUGIN": "no_such"}))
        self.assertEqual(used, {"shm+tcp"}, log)
        self.assertIn("the network plugin libnccl-net-no_such.so cannot be used: ", log)
        self.assertIn("; other hosts are reached over InfiniBand, RoCE or TCP instead", log)

    def test_a_plugin_that_does_not_connect_two_hosts_is_left_with_a_warning_for_each_pair(self):
        for addresses in (("127.0.0.1", "127.0.0.1"), ("10.77.0.1", "127.0.0.1")):
            log, used = self.run_perf(("all", "-e", "64K"), addresses=addresses)
            self.assertIn("shm+tcp", used, log)  # once all pairs have tried
            warnings = fabric_warnings(log)
            self.assertTrue(warnings)
            for line in warnings:
                self.assertRegex(line, r"rank \d \(.*\) is reached by tcp: .*connect\(\) of the network plugin TestNet")
            self.assertEqual(len(warnings), 4)


if __name__ == "__main__":
    main()
