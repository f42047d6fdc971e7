#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_fabrics.py RONDO_PERF: hosts with InfiniBand or RoCE, of the stand-in for libibverbs: when it is used, and
what happens if it cannot be."""
import os
import re
import tempfile

from fabric_case import FabricCase
from host_ranks import fabric_warnings, start
from network import Network, main


class Fabrics(FabricCase):
    def test_a_fabric_that_both_hosts_have_is_used_unasked(self):
        log, used = self.run_perf(("all", "-e", "1M"))
        self.assertEqual(used, {"shm+verbs"}, log)
        self.assertEqual(fabric_warnings(log), [])

    def explained(self, **variables):
        """What rank 0 of two hosts prints of one call, and the predicted time of its ring."""
        with tempfile.TemporaryDirectory() as folder, Network(2) as hosts:
            os.makedirs(f"{folder}/sys/class/infiniband/rondo_0")
            ended = start(hosts, 1, ["all_reduce", "-b", "64M", "-e", "64M", "--explain"],
                          of_hosts=[{"RONDO_STANDIN_VERBS_HOST": str(i)} for i in (0, 1)],
                          SYSFS_PATH=f"{folder}/sys", RONDO_STANDIN_VERBS=folder,
                          **{f"RONDO_STANDIN_VERBS_{name}": value for name, value in variables.items()})
        self.assertEqual([code for _, code in ended], [0, 0], ended)
        text = ended[0][0][0]
        return text, float(re.search(r"^  ring +([0-9.]+) us", text, re.M)[1])

    def test_an_explanation_follows_the_rate_of_the_ports_and_names_the_connections(self):
        text, fast_us = self.explained(DEVICES="roce:1:400", GIDS="v2 10.9.%p.%h lo")
        self.assertIn("rank 0 is connected to\n  rank 1 (", text)
        self.assertIn("verbs, rondo_0:1 10.9.1.1 (GID 0, RoCE v2, lo) to rondo_0:1 10.9.1.2 (GID 0, RoCE v2, lo), "
                      "MTU 4096, 1 queue pair", text)
        _, slow_us = self.explained(DEVICES="roce:1:100")
        self.assertTrue(2 < slow_us / fast_us < 4, (slow_us, fast_us))  # messages and sums cost the same
        text, tcp_us = self.explained(DEVICES="none")
        self.assertGreater(tcp_us, 1.5 * slow_us)
        self.assertRegex(text, r"lane 0: tcp\n")

    def test_ranks_carry_as_much_between_hosts_as_the_cards_near_their_cpus_allow(self):
        """Of both hosts: two ranks near one card, a third near another."""
        cpus = sorted(os.sched_getaffinity(0))
        if len(cpus) < 2:
            self.skipTest("this process may use one CPU only")
        near = {"ranks_a_host": 3, "gpus_of_nics": [(), ()], "cpus": [cpus[0], cpus[0], cpus[1]]}
        text = "the ranks of a host carry 1:1:2 parts of a vector between hosts\n"
        log = self.run_shares(DEVICES="roce:1:10,roce:1:10", **near)
        self.assertEqual(log.count(text), 1, log)
        # Over a fast network, what takes longest are messages within hosts.
        log, _ = self.run_perf(DEVICES="roce:1:400,roce:1:400", **near)
        self.assertNotIn("the ranks of a host carry", log)

    def test_hosts_without_a_common_fabric_use_tcp(self):
        for other in ({"DEVICES": "ib"}, {"NCCL_IB_DISABLE": "1"}, {"RONDO_IB_PORTS": "none"}):
            log, used = self.run_perf(of_hosts=({}, other))
            self.assertEqual(used, {"shm+tcp"}, log)
            self.assertEqual(fabric_warnings(log), [])
        for other, why in (({"DEVICES": "none"}, "this host has no device"), ({"FAIL": "open:1"}, "may not open"),
                           ({"AT": "0 port_down 1/rondo_0:1"}, "rondo_0:1 is down"),
                           ({"NCCL_IB_HCA": "mlx5"}, "NCCL_IB_HCA is 'mlx5': no port")):
            log, used = self.run_perf(of_hosts=({}, other))
            self.assertEqual(used, {"shm+tcp"}, log)
            warnings = fabric_warnings(log)
            self.assertEqual(len(warnings), 2, log)  # one of each process
            self.assertIn("InfiniBand and RoCE are not used", warnings[0])
            self.assertIn(why, warnings[0])

    def test_a_fabric_that_carries_nothing_is_left_with_a_warning_for_each_pair(self):
        log, used = self.run_perf(GIDS="v2 10.9.%p.%h lo", AT="0 drop 10.9.1.1 10.9.1.2")
        self.assertTrue(any("tcp" in row for row in used), log)
        warnings = fabric_warnings(log)
        self.assertTrue(warnings)
        for line in warnings:
            self.assertRegex(line, r"rank \d \(.*\) is reached by tcp: no path over InfiniBand or RoCE to rank \d ")
        self.assertLessEqual(len(warnings), 4)

    def test_a_host_that_may_not_lock_enough_memory_uses_tcp_and_says_what_to_raise(self):
        log, used = self.run_perf(of_hosts=({}, {"MEMLOCK": "65536"}))
        self.assertEqual(used, {"shm+tcp"}, log)
        self.assertIn("InfiniBand and RoCE are not used: registering", log)
        self.assertIn("LimitMEMLOCK=infinity", log)
        # Enough for the first connection only.
        log, used = self.run_perf(of_hosts=({}, {"MEMLOCK": str(3 << 20)}))
        self.assertTrue(any("tcp" in row for row in used), log)
        self.assertRegex(log, r"is reached by tcp: .*registering .* bytes with rondo_0")

    def test_a_port_that_goes_down_is_replaced_by_another_or_by_tcp(self):
        words = ("all_reduce,all_to_all", "-e", "1M", "-N", "20")
        # Without groups, so that all pairs go on to be used.
        down = {"RONDO_IB_TIMEOUT": "12", "RONDO_IB_RETRY": "2", "RONDO_GROUP": "1", "command": "port_down 0/rondo_0:1"}
        log, used = self.run_perf(words, DEVICES="roce:2", **down)
        self.assertEqual(used, {"shm+verbs"}, log)
        self.assertRegex(log, r"rank \d is reached by rondo_0:2 .*better paths fail: rondo_0:1 .*(is down|\(status)")
        log, used = self.run_perf(words, **down)
        self.assertIn("shm+tcp", used, log)
        self.assertRegex(log, r"rank \d \(.*\) is reached by tcp: .*rondo_0:1 is down")

    def test_settings_that_name_what_is_not_there_end_the_job(self):
        log, used = self.run_perf(RONDO_IB_PORTS="mlx5_7")
        self.assertEqual(used, {"failed"})
        self.assertIn("RONDO_IB_PORTS is 'mlx5_7'", log)
        log, used = self.run_perf(of_hosts=({"RONDO_IB_PKEY": "0x8001"}, {"RONDO_IB_PKEY": "0x8003"}))
        self.assertEqual(used, {"failed"})
        self.assertRegex(log, r"RONDO_IB_PKEY is 0x000[13] at this end and 0x000[13] at the other")


if __name__ == "__main__":
    main()
