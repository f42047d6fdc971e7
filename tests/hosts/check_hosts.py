#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_hosts.py RONDO_PERF PAIRS FIRST_BROADCAST: ranks on several hosts meet by env:// with a secret, choose the
connecting interface and algorithms for hosts, get the right results, and are told of hosts that are lost."""
import sys
import tempfile
import time
import unittest

from host_ranks import TIMEOUT_S, await_first_row, right_rows, run_right, start
from network import Network, main

PAIRS, FIRST_BROADCAST = sys.argv.pop(1), sys.argv.pop(1)


class Hosts(unittest.TestCase):
    def test_one_host_is_right(self):
        run_right(self, 1, ["all_reduce", "-b", "8", "-e", "64K", "-f", "8", "-n", "3"])

    def test_two_and_four_hosts_are_right_and_choose_the_fabric(self):
        for count in (2, 4):
            with self.subTest(hosts=count):
                ended = run_right(self, count, ["all", "-b", "8", "-e", "64K", "-f", "16", "-n", "2"])
                for rank, ((_, log), _) in enumerate(ended):
                    offers = [line for line in log.splitlines() if "network: offering" in line]
                    self.assertIn(f"offering 10.77.0.{rank // 2 + 1} of interface fabric0", offers[0])
                    self.assertFalse(any("127.0.0.1" in line for line in offers))

    def test_algorithms_of_two_levels_are_chosen_between_hosts_wherever_their_ranks_are(self):
        chosen = {"all_reduce": ("leaders", "hierarchical_ring"), "all_gather": ("hierarchical",) * 2,
                  "reduce_scatter": ("hierarchical", "hierarchical_ring"), "barrier": ("leaders",)}
        for placed in ([0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2]):
            with self.subTest(placed=placed):
                self.assertEqual(self.chosen(placed, chosen), chosen)

    def chosen(self, placed, collectives):
        """The algorithms that ranks on these hosts choose for a short and a long call of each collective."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/rows.json"
            words = [",".join(collectives), "-b", "64", "-e", "4M", "-f", "65536", "-n", "2", "--json", path]
            run_right(self, max(placed) + 1, words, placed=placed)
            rows = right_rows(self, path)
        return {name: tuple(row["algorithm"] for row in rows if row["collective"] == name) for name in collectives}

    def test_unequal_hosts_are_groups_and_calls_with_blocks_divide_them_into_equal_ones(self):
        collectives = ("all_reduce", "all_gather", "reduce_scatter")
        for placed in ([0, 0, 0, 0, 1, 1], [0, 1, 0, 1, 0, 0]):
            with self.subTest(placed=placed):
                for name, (short, long) in self.chosen(placed, collectives).items():
                    self.assertRegex(f"{name} {short}", "hierarchical|leaders")
                    self.assertRegex(f"{name} {long}", "hierarchical")

    def test_on_hosts_that_share_no_divisor_vectors_go_in_shares_and_blocks_around_a_ring(self):
        chosen = self.chosen([0, 1, 0, 1, 0, 1, 0], ("all_reduce", "all_gather", "reduce_scatter"))
        self.assertRegex(chosen["all_reduce"][0], "hierarchical|leaders")
        self.assertRegex(chosen["all_reduce"][1], "hierarchical")
        self.assertEqual([chosen[name][1] for name in ("all_gather", "reduce_scatter")], ["ring"] * 2)

    def test_scans_of_consecutive_ranks_scan_within_hosts(self):
        for placed, name in (([0, 0, 0, 0, 1, 1, 1], "hierarchical"), ([0, 0, 1, 1, 2, 2], "hierarchical"),
                             ([0, 1, 0, 1, 0, 1, 0], "recursive_doubling|flat")):
            with self.subTest(placed=placed):
                for collective, (short, _) in self.chosen(placed, ("scan", "exscan")).items():
                    self.assertRegex(f"{collective} {short}", name)

    def test_a_ring_of_ranks_dealt_out_to_unequal_hosts_goes_from_host_to_host(self):
        words = ["all_reduce", "-b", "1M", "-e", "1M", "--explain"]
        with Network(2) as hosts:
            ended = start(hosts, None, words, placed=[0, 1, 0, 1, 0], RONDO_ALGORITHM="all_reduce=ring")
        (out, log), code = ended[0]
        self.assertEqual(code, 0, out + log)
        self.assertIn("part 1 of 5: (((x2 + x4) + x1) + x3) + x0\n", out)

    def test_everything_is_right_on_unequal_hosts(self):
        for placed in ([0, 1, 0, 0], [0, 1, 0, 1, 0, 0]):
            with self.subTest(placed=placed):
                words = ["all", "-b", "8", "-e", "64K", "-f", "8192", "-n", "1", "-w", "0", "--algorithm", "all"]
                run_right(self, 2, words, placed=placed)

    def test_every_algorithm_is_right_between_hosts(self):
        run_right(self, 2, ["all", "-b", "8", "-e", "1M", "-f", "512", "-n", "1", "-w", "0", "--algorithm", "all"])

    def test_a_filter_that_names_the_wrong_interface_is_told(self):
        with Network(2) as hosts:
            ended = start(hosts, 1, ["barrier"], RONDO_SOCKET_IFNAME="wlan")
        for (_, log), code in ended:
            self.assertNotEqual(code, 0)
            self.assertIn("RONDO_SOCKET_IFNAME='wlan' matches no interface", log)

    def test_a_cut_network_is_said_to_be_cut_after_the_time_that_is_set(self):
        cut_s = []

        def cut(processes):
            await_first_row(self, processes)
            hosts.cut_off(1)
            cut_s.append(time.monotonic())

        with Network(2) as hosts:
            ended = start(hosts, 1, ["all_reduce", "-b", "8", "-e", "16", "-f", "2", "-n", "10", "-N", "0"],
                          meanwhile=cut, RONDO_UNREACHABLE="2")
        self.assertLess(time.monotonic() - cut_s[0], 4.5)
        for (_, log), code in ended:
            self.assertNotEqual(code, 0)
            self.assertIn(") has been unreachable for 2 s (RONDO_UNREACHABLE)", log)

    def test_a_stopped_rank_that_speaks_for_its_host_is_named_by_all(self):
        took_s = []

        def wait(processes):
            began_s = time.monotonic()
            for rank in (0, 1, 2, 4, 5):
                processes[rank].wait(timeout=TIMEOUT_S)
            took_s.append(time.monotonic() - began_s)
            processes[3].kill()

        with Network(2) as hosts:
            ended = start(hosts, 3, ["3"], program=FIRST_BROADCAST, meanwhile=wait, RONDO_TIMEOUT="1.5")
        # It passes no news on: ranks 4 and 5 find that rank 0 has given up and left by its closed connections alone.
        self.assertLess(took_s[0], 5)
        for rank in (0, 1, 2, 4, 5):
            (out, log), _ = ended[rank]
            self.assertRegex(out, r"rank 3 \(.*\).* did not answer", log)

    def test_all_ranks_of_a_host_that_is_cut_off_are_lost_not_only_the_one_that_speaks_for_it(self):
        cut_s = []

        def cut(processes):
            self.assertEqual(processes[0].stdout.readline().strip(), "ready")
            hosts.cut_off(1)
            cut_s.append(time.monotonic())

        with Network(2) as hosts:
            ended = start(hosts, 2, [], program=PAIRS, meanwhile=cut, RONDO_UNREACHABLE="2", RONDO_TIMEOUT="60")
        self.assertLess(time.monotonic() - cut_s[0], 8)
        for rank, ((out, log), code) in enumerate(ended):
            self.assertEqual(code, 0, log)
            self.assertRegex(out.splitlines()[-1], rf"rank {(rank + 2) % 4} \(.*\) has been unreachable for 2 s")

    def test_without_a_secret_other_hosts_are_refused_with_what_to_set(self):
        with Network(2) as hosts:
            ended = start(hosts, 1, ["barrier"], secret=None)
        for (_, log), code in ended:
            self.assertNotEqual(code, 0)
            self.assertIn("RONDO_SECRET", log)


if __name__ == "__main__":
    main()
