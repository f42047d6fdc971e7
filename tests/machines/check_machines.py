#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verbs transport over Linux's own RoCE (rdma_rxe), between two emulated machines with two ports each: what is
chosen, and what happens if links, ranks and a machine fail. All checks use machines that are booted once.

usage: check_machines.py SOURCE_ROOT RONDO_PERF RONDO_RUN TRAINING TEST_TRANSPORTS TEST_VERBS. Exits 77 where no
machine can be booted.
"""
import json
import os
import re
import signal
import sys
import time
import unittest

sys.dont_write_bytecode = True

from machines import Machines, why_not  # noqa: E402

ROOT, PERF, RUN, TRAINING, TEST_TRANSPORTS, TEST_VERBS = (os.path.abspath(sys.argv.pop(1)) for _ in range(6))
PATH = r"rxe\d:1 10\.9\.\d\.1 \(GID \d, RoCE v2, eth\d\) to rxe\d:1 10\.9\.\d\.2 \(GID \d, RoCE v2, eth\d\)"
# Ranks meet over eth1, so that they survive if eth0 goes.
OVER_ETH1 = "export MASTER_ADDR=10.9.1.1 RONDO_SOCKET_IFNAME=eth1\n"
UP_TO_64K = "-b 8 -e 64K -f 8192"
booted = []


def setUpModule():  # pylint: disable=invalid-name  # unittest's
    booted.append(Machines(ROOT))


def tearDownModule():  # pylint: disable=invalid-name
    booted.pop().close()


class Case(unittest.TestCase):
    def setUp(self):
        self.machines = booted[0]

    def right(self, script, transport, seconds=90):
        """Runs rondo-perf in both machines, as the script says after `rows=NAME`, and checks its rows. Returns both
        outcomes."""
        name = f"rows.{self.machines.turns}"
        ended = self.machines.run(f"rows={name}\n{script}", seconds)
        for outcome in ended:
            self.assertEqual(outcome.status, 0, outcome.output)
        rows = json.loads(self.machines.text(name))["results"]
        self.assertTrue(rows)
        self.assertEqual({row["wrong"] for row in rows}, {0})
        # If it changes in the middle, the last row tells.
        self.assertEqual(rows[-1]["transport"], transport, ended[0].output)
        return ended, rows

    def down_in_the_middle(self, words, variables=""):
        """The script of a run in which host 1 loses eth0 after the first row."""
        shown = f"shown.{self.machines.turns}"
        return (OVER_ETH1 + variables + f"[ $RANK = 0 ] || (seen ' 8  ' {shown}; ip link set eth0 down) &\n"
                f"{PERF} {words} --json $rows | if [ $RANK = 0 ]; then tee {shown}; else cat; fi\n"
                "exit ${PIPESTATUS[0]}\n")


class Choices(Case):
    def test_every_collective_is_right_over_roce_that_nobody_has_asked_for(self):
        ended, rows = self.right(f"{PERF} all {UP_TO_64K} -n 1 -w 0 --json $rows", "verbs")
        self.assertGreater(len({row["collective"] for row in rows}), 8)
        self.assertEqual({row["transport"] for row in rows}, {"verbs"})
        self.assertEqual(ended[0].warnings() + ended[1].warnings(), [])
        self.assertRegex(ended[0].output, rf"rondo info\] rank 1 is reached by {PATH}, MTU 4096")

    def test_with_other_addresses_first_and_a_port_that_leads_nowhere_the_right_pair_is_found(self):
        # GIDs: link-local, IPv6, IPv4; and a first device whose address is the same on every host.
        ended, _ = self.right(f"""
            ip address del 10.9.0.$((RANK + 1))/24 dev eth0
            ip address add fd00:9::$((RANK + 1))/64 dev eth0 nodad
            ip address add 10.9.0.$((RANK + 1))/24 dev eth0
            ip link add docker0 type dummy
            ip address add 172.17.0.1/16 dev docker0
            ip link set docker0 up
            rdma link add decoy0 type rxe netdev docker0
            grep -H . /sys/class/infiniband/decoy0/ports/1/state /sys/class/infiniband/rxe0/ports/1/gids/[0-3]
            {PERF} all_reduce {UP_TO_64K} -n 1 -w 0 --json $rows; status=$?
            rdma link delete decoy0
            ip link delete docker0
            ip address del fd00:9::$((RANK + 1))/64 dev eth0
            exit $status""", "verbs")
        self.assertRegex(ended[0].output, r"gids/2:0000:0000:0000:0000:0000:ffff:0a09:0001")  # IPv4 is the last
        said = [line for line in ended[0].output.splitlines() if "rank 1 is reached by rxe" in line]
        self.assertEqual(len(said), 1, ended[0].output)
        self.assertRegex(said[0], PATH)
        self.assertRegex(said[0], "addresses of one subnet|because (better|other) paths fail: decoy0:1")
        self.assertIn("decoy0/ports/1/state:4: ACTIVE", ended[0].output)


class OneHost(Case):
    def test_ranks_of_a_launcher_read_one_another_where_yama_restricts_that(self):
        # As a user who is not root. Ranks whose launchers have nothing in common copy, and those that ask for it.
        with_yama = f"""
            [ $RANK = 0 ] || exit 0
            unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR
            echo 1 > /proc/sys/kernel/yama/ptrace_scope || exit
            perf="{PERF} send_recv --transport shm -b 64K -e 64K -n 2 -w 0"
            user='setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace'
            ranks="$user {RUN} -n 2"
            echo of a launcher; $ranks $perf --json $rows || exit
            echo of two shells; $ranks sh -c "$perf; exit" || exit
            echo on request; RONDO_READ_PEER=0 $ranks $perf; status=$?
            echo 0 > /proc/sys/kernel/yama/ptrace_scope
            exit $status"""
        ended, _ = self.right(with_yama, "shm")
        parts = re.split("(?m)^(?:of a launcher|of two shells|on request)$", ended[0].output)[1:]
        refused = "a peer's process is not read, and its bytes are copied: process_vm_readv()"
        self.assertEqual([refused in part for part in parts], [False, True, False], ended[0].output)


class Failures(Case):
    def test_a_link_that_goes_down_is_replaced_by_the_second_port_with_one_warning(self):
        ended, _ = self.right(self.down_in_the_middle(f"all_reduce {UP_TO_64K} -n 3 -w 1 -N 10"), "verbs")
        warnings = ended[0].warnings() + ended[1].warnings()
        self.assertEqual(len(warnings), 1, warnings)
        self.assertRegex(warnings[0], r"rank \d is reached by rxe1:1 .*because better paths fail: rxe0:1 .* to rxe0:1 "
                         r".*(rxe0:1 is down|queue pair to rank \d failed: .*\(status)")

    def test_without_another_port_it_goes_on_over_tcp(self):
        script = self.down_in_the_middle(f"all_reduce {UP_TO_64K} -n 3 -w 1 -N 10", "export RONDO_IB_PORTS=rxe0\n")
        ended, _ = self.right(script, "tcp")
        warnings = ended[0].warnings() + ended[1].warnings()
        self.assertRegex("\n".join(warnings), r"rank \d \(.*\) is reached by tcp: .*rxe0:1")

    def test_without_another_port_and_with_verbs_named_the_error_names_the_link_and_says_that_the_peer_lives(self):
        script = self.down_in_the_middle("all_reduce -b 8 -e 8 -n 3 -w 1 -N 0",
                                         "export RONDO_IB_PORTS=rxe0 RONDO_TRANSPORT=verbs\n")
        for outcome in self.machines.run("rows=unused\n" + script, 60):
            self.assertNotIn(outcome.status, (0, 124), outcome.output)
            self.assertRegex(outcome.output, r"rank \d was reached by rxe0:1 10\.9\.0\.1 .* to rxe0:1 10\.9\.0\.2 .*, "
                             r"until .*(rxe0:1 is down|\(status \d+\)); its process lives, but ")

    def test_a_network_that_loses_packets_costs_time_only(self):
        ended, _ = self.right(OVER_ETH1 + f"""
            tc qdisc add dev eth0 root netem loss 2%
            {PERF} all_reduce,all_to_all {UP_TO_64K} -n 2 -w 0 --json $rows; status=$?
            tc -s qdisc show dev eth0
            exit $status""", "verbs")
        self.assertEqual(ended[0].warnings() + ended[1].warnings(), [])
        self.assertRegex("".join(outcome.output for outcome in ended), r"dropped [1-9]")

    def test_a_training_whose_link_goes_down_half_way_has_the_losses_of_tcp(self):
        ended = self.machines.run(OVER_ETH1 + f"""
            RONDO_TRANSPORT=tcp {TRAINING} 120 > losses.tcp.$RANK || exit
            [ $RANK = 0 ] || (seen 'step 40' losses.verbs.0; ip link set eth0 down) &
            MASTER_PORT=29501 {TRAINING} 120 > losses.verbs.$RANK""", 90)
        for rank, outcome in enumerate(ended):
            self.assertEqual(outcome.status, 0, outcome.output)
            losses = [self.machines.text(f"losses.{transport}.{rank}") for transport in ("tcp", "verbs")]
            self.assertEqual(len(losses[0].splitlines()), 120)
            self.assertEqual(losses[0], losses[1])
        self.assertRegex(ended[0].output + ended[1].output,
                         "rank 1 is reached by rxe1:1 .*because better paths fail: rxe0")

    def test_a_rank_that_is_killed_is_named_at_once(self):
        machines = self.machines
        shown = f"shown.{machines.turns}"
        ended = machines.run(f"""
            if [ $RANK = 0 ]; then
              {PERF} all_reduce -b 8 -e 8 -n 3 -w 1 -N 0 | tee {shown}
              touch ended
            else
              {PERF} all_reduce -b 8 -e 8 -n 3 -w 1 -N 0 & rank=$!
              seen ' 8  ' {shown}
              touch killed
              kill -9 $rank
            fi""", 60)
        self.assertRegex(ended[0].output, r"rank 1 \(process \d+ on host host1\) died")
        # A second, and the emulation's slowness.
        self.assertLess(os.stat(machines.path("ended")).st_mtime - os.stat(machines.path("killed")).st_mtime, 5)


@unittest.skipIf("RONDO_TEST_BRIEF" in os.environ, "RONDO_TEST_BRIEF is set: the stand-in runs them")
class Suites(Case):
    def test_the_conformance_suite_and_the_probes_of_the_stand_in_pass(self):
        ended = self.machines.run(f"""
            unset RONDO_LOG
            cd /tmp
            if [ $RANK = 0 ]; then exec {TEST_VERBS}; fi
            export RONDO_TEST_TRANSPORT=verbs
            exec {TEST_TRANSPORTS} -# '[#conformance_test]'""", 150)
        for outcome in ended:
            self.assertEqual(outcome.status, 0, outcome.output)
            self.assertRegex(outcome.output, "All tests passed")


class LastOfAll(Case):
    def test_a_host_without_power_is_named(self):
        machines = self.machines
        shown = f"shown.{machines.turns}"
        machines.begin(f"{PERF} all_reduce -b 8 -e 8 -n 3 -w 1 -N 0 > {shown}.$RANK; touch lost", 90)
        machines.wait_for("the first row", 90, lambda: re.search(r"^ +8 ", machines.text(f"{shown}.0"), re.M))
        os.kill(machines.qemu(1), signal.SIGKILL)
        began = time.time()
        outcome = machines.end(60, hosts=[0])[0]
        self.assertRegex(outcome.output, r"rank 1 \(process \d+ on host host1\) has been unreachable for \d+ s")
        # Six seconds, and the emulation's slowness.
        self.assertLess(os.stat(machines.path("lost")).st_mtime - began, 15)


def load_tests(loader, _, __):
    """In this order; the last one leaves no machines."""
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, (Choices, OneHost, Failures, Suites, LastOfAll)))


class TimedResult(unittest.TextTestResult):
    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"  {time.monotonic() - self.began:.1f} s")


if __name__ == "__main__":
    missing = why_not(ROOT)
    if missing:
        print(f"skipped: machines with RoCE cannot be booted: {missing}")
        sys.exit(77)
    unittest.main(verbosity=2, testRunner=unittest.TextTestRunner(verbosity=2, resultclass=TimedResult))
