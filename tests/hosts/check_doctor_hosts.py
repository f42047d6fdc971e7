#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_doctor_hosts.py RONDO_DOCTOR: what rondo-doctor finds between several hosts."""
import re
import unittest

from host_ranks import start
from network import Network, ip, main


class Doctor(unittest.TestCase):
    def test_every_pair_of_hosts_is_measured(self):
        for ranks_a_host, count in ((2, 2), (1, 5)):
            with self.subTest(count), Network(count) as hosts:
                ended = start(hosts, ranks_a_host, [])
            self.assertTrue(all(code == 0 for _, code in ended[1:]), ended)
            (out, log), code = ended[0]
            self.assertIn(code, (0, 3), log)
            roster, pairs, *_ = out.splitlines()
            self.assertTrue(roster.startswith(f"{ranks_a_host * count} ranks on {count} hosts: "), roster)
            self.assertEqual(len(re.findall(r"\(\d(?:-\d)?\)", roster)), count)
            number = count * (count - 1) // 2
            self.assertRegex(pairs, rf"^between hosts by tcp: {number} pairs?; median \d+\.\d us one way, "
                             r"\d+\.\d\d GB/s$")
            self.assertNotIn("clock of", out)

    def test_a_pair_of_hosts_between_which_long_packets_are_lost_is_named(self):
        with Network(3) as hosts:
            for host in hosts.names[1:]:
                ip("-n", host, "link", "set", "fabric0", "mtu", "9000", "gso_max_segs", "1")  # the bridge has 1500
            ended = start(hosts, 1, ["--timeout", "6"])
        (out, log), code = ended[0]
        self.assertEqual(code, 1, out + log)
        self.assertIn("between hosts by tcp: 3 pairs; median", out)
        self.assertRegex(out, r"/1 and \S+/2: 8 bytes arrive, and 4 MiB do not within 2 s: .*\n-> compare the MTU")
        self.assertEqual([code for _, code in ended[1:]], [0, 0])

    def test_a_way_that_drops_packets_in_one_direction_is_named_with_both_ends(self):
        with Network(3) as hosts:
            ip("-n", hosts.names[1], "neigh", "replace", "10.77.0.3", "lladdr", "02:00:00:00:00:01", "dev", "fabric0")
            ended = start(hosts, 1, ["--timeout", "4"])
        for (_, log), code in ended:
            self.assertEqual(code, 1, log)
            self.assertRegex(log, r"rondo-doctor: .*rank 1 \(.*\) cannot reach rank 2 \(.*\): 10.77.0.3:\d+: it did")

    def test_without_a_secret_it_says_what_to_set(self):
        with Network(2) as hosts:
            ended = start(hosts, 1, ["--timeout", "10"], secret=None)
        for (_, log), code in ended:
            self.assertEqual(code, 1, log)
            self.assertRegex(log, "rondo-doctor: .*RONDO_SECRET")


if __name__ == "__main__":
    main()
