#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks on several hosts (network.py) meet by env:// with a secret, choose the connecting interface, and get the right
results.

usage: check_hosts.py RONDO_PERF PAIRS FIRST_BROADCAST [Hosts | GpuHosts | Fabrics | Plugins], or for a single program
check_hosts.py RONDO_TOPO Topologies, check_hosts.py RONDO_DOCTOR Doctor. Needs root and ip (iproute2), and exits 77
without them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from network import Network, ip, possible

ALONE = sys.argv.pop(1) if sys.argv[-1] in ("Topologies", "Doctor") else None
PERF, PAIRS, FIRST_BROADCAST = [None] * 3 if ALONE else [sys.argv.pop(1) for _ in range(3)]
TIMEOUT_S = 120
IN_SHARES = {"all_reduce": "hierarchical_ring", "broadcast": "hierarchical_tree", "reduce": "hierarchical_chain",
             "scan": "hierarchical", "exscan": "hierarchical_doubling", "reduce_scatter": "hierarchical_halving",
             "all_gather": "hierarchical_ring"}


def start(hosts, ranks_a_host, words, own_gpus=False, meanwhile=lambda processes: None, program=PERF, of_hosts=None,
          placed=None, cpus=None, **variables):
    """Starts the ranks, each with its own GPU if requested, and calls `meanwhile` with them. `of_hosts`: further
    variables by host. `placed`: each rank's host, if not `ranks_a_host` consecutive ranks on each. `cpus`: the one of
    each rank of a host. Returns the finished processes with their output."""
    if placed is None:
        placed = [host for host in range(len(hosts.names)) for _ in range(ranks_a_host)]
    processes = []
    for rank, host in enumerate(placed):
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(len(placed)),
                           LOCAL_RANK=str(placed[:rank].count(host)), LOCAL_WORLD_SIZE=str(placed.count(host)),
                           MASTER_ADDR="10.77.0.1", MASTER_PORT="29600", RONDO_LOG="info", **variables)
        if of_hosts is not None:
            environment.update(of_hosts[host])
        if own_gpus:
            environment["RONDO_DEVICE"] = f"cuda:{rank}"
        command = ["ip", "netns", "exec", hosts.names[host], program, *words]
        own = os.sched_getaffinity(0)
        if cpus is not None:
            os.sched_setaffinity(0, {cpus[placed[:rank].count(host)]})
        processes.append(subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE))
        os.sched_setaffinity(0, own)
    try:
        meanwhile(processes)
        return [(one.communicate(timeout=TIMEOUT_S), one.returncode) for one in processes]
    finally:
        for one in processes:
            one.kill()
            one.wait()
            one.stdout.close()
            one.stderr.close()


def put_below_roots(sys_folder, gpus_of_nics):
    """For each network card, below a root of its own: rondo_0, rondo_1, ... and these GPUs of the stand-in for CUDA's
    driver."""
    os.makedirs(f"{sys_folder}/bus/pci/devices")
    for nic, gpus in enumerate(gpus_of_nics):
        root = f"{sys_folder}/devices/pci0000:{nic:02x}"
        card = f"0000:{0x20 + nic:02x}:00.0"
        for name in [card] + [f"0000:{0x10 + gpu:02x}:00.0" for gpu in gpus]:
            os.makedirs(f"{root}/{name}")
            os.symlink(f"{root}/{name}", f"{sys_folder}/bus/pci/devices/{name}")
        os.makedirs(f"{sys_folder}/class/infiniband/rondo_{nic}", exist_ok=True)
        os.symlink(f"{root}/{card}", f"{sys_folder}/class/infiniband/rondo_{nic}/device")


def put_on_nodes(sys_folder, cpus):
    """Memory nodes of a CPU each, and of the network card of the same number below put_below_roots()."""
    for node, cpu in enumerate(cpus):
        os.makedirs(f"{sys_folder}/devices/system/node/node{node}")
        for path, value in ((f"system/node/node{node}/cpulist", cpu),
                            (f"pci0000:{node:02x}/0000:{0x20 + node:02x}:00.0/numa_node", node)):
            with open(f"{sys_folder}/devices/{path}", "w", encoding="utf-8") as file:
                file.write(f"{value}\n")


def run_right(test, count, words, **options):
    with Network(count) as hosts:
        ended = start(hosts, 2, words, RONDO_SECRET="correct horse", **options)
    for (out, log), code in ended:
        test.assertEqual(code, 0, out + log)
    out = ended[0][0][0]
    test.assertIn("# Out of bounds values : 0 OK", out)
    return ended


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
            with open(path, encoding="utf-8") as file:
                rows = json.load(file)["results"]
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
            ended = start(hosts, None, words, placed=[0, 1, 0, 1, 0], RONDO_SECRET="correct horse",
                          RONDO_ALGORITHM="all_reduce=ring")
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
            ended = start(hosts, 1, ["barrier"], RONDO_SECRET="correct horse", RONDO_SOCKET_IFNAME="wlan")
        for (_, log), code in ended:
            self.assertNotEqual(code, 0)
            self.assertIn("RONDO_SOCKET_IFNAME='wlan' matches no interface", log)

    def test_a_cut_network_is_said_to_be_cut_after_the_time_that_is_set(self):
        cut_s = []

        def cut(processes):
            line = ""
            while not line.strip().startswith("8 "):  # by the first row all are connected
                line = processes[0].stdout.readline()
                self.assertNotEqual(line, "", "rank 0 has ended")
            hosts.cut_off(1)
            cut_s.append(time.monotonic())

        with Network(2) as hosts:
            ended = start(hosts, 1, ["all_reduce", "-b", "8", "-e", "16", "-f", "2", "-n", "10", "-N", "0"],
                          meanwhile=cut, RONDO_SECRET="correct horse", RONDO_UNREACHABLE="2")
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
            ended = start(hosts, 3, ["3"], program=FIRST_BROADCAST, meanwhile=wait, RONDO_SECRET="correct horse",
                          RONDO_TIMEOUT="1.5")
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
            ended = start(hosts, 2, [], program=PAIRS, meanwhile=cut, RONDO_SECRET="correct horse",
                          RONDO_UNREACHABLE="2", RONDO_TIMEOUT="60")
        self.assertLess(time.monotonic() - cut_s[0], 8)
        for rank, ((out, log), code) in enumerate(ended):
            self.assertEqual(code, 0, log)
            self.assertRegex(out.splitlines()[-1], rf"rank {(rank + 2) % 4} \(.*\) has been unreachable for 2 s")

    def test_without_a_secret_other_hosts_are_refused_with_what_to_set(self):
        with Network(2) as hosts:
            ended = start(hosts, 1, ["barrier"])
        for (_, log), code in ended:
            self.assertNotEqual(code, 0)
            self.assertIn("RONDO_SECRET", log)


class Topologies(unittest.TestCase):
    def test_a_job_has_the_topology_of_all_its_hosts_and_equal_ones_are_described_once(self):
        with tempfile.TemporaryDirectory() as folder, Network(3) as hosts:
            for machine in ("hgx-h100", "hgx-a100"):
                subprocess.run([ALONE, "--machine", machine, "--save", f"{folder}/{machine}.xml"], check=True)
            # As on three hosts: NICs have numbers of their own.
            files = [f"{folder}/{i}.xml" for i in range(3)]
            for i, machine in enumerate(("hgx-h100", "hgx-a100", "hgx-h100")):
                with open(f"{folder}/{machine}.xml", encoding="utf-8") as file:
                    text = file.read()
                text = text.replace("<net ", f'<net guid="0x{i + 7}" ')
                with open(files[i], "w", encoding="utf-8") as file:
                    file.write(text.replace("<cpu ", f'<cpu host_hash="0x{i + 1}" '))
            own_files = [{"RONDO_TOPO_FILE": path} for path in files]

            def printed(*words):
                ended = start(hosts, 2, ["--job", *words], program=ALONE, of_hosts=own_files,
                              RONDO_SECRET="correct horse")
                self.assertTrue(all(out == "" for (out, _), _ in ended[1:]), ended)
                return ended[0][0][0], ended[0][0][1], {code for _, code in ended}

            tree, log, codes = printed()
            self.assertEqual(codes, {0}, log)
            self.assertTrue(tree.startswith("24 GPUs, 24 NICs, 6 NUMA nodes; GB/s each way\n"), tree)
            for host, links in enumerate((18, 12, 18)):
                self.assertRegex(tree, rf"host{host}/gpu7 .* NVLink x{links} ")
            _, log, codes = printed("--save", f"{folder}/saved.xml")
            self.assertIn("its hosts are of 2 kinds: expected equal hosts", log)
            own_files[1] = own_files[0]
            table, log, codes = printed("--paths")
            self.assertEqual(codes, {0}, log)
            of_one = [ALONE, "--machine", "hgx-h100", "--hosts", "3", "--paths"]
            self.assertEqual(table, subprocess.run(of_one, check=True, capture_output=True, text=True).stdout)
            own_files[1] = {"RONDO_TOPO_FILE": f"{folder}/none.xml"}
            ended = start(hosts, 2, ["--job"], program=ALONE, of_hosts=own_files, RONDO_SECRET="correct horse")
            for (_, log), code in ended:
                self.assertEqual(code, 1, log)
                self.assertRegex(log, r"rank 2 \(.*\): RONDO_TOPO_FILE: .*/none.xml: No such file or directory")


class Doctor(unittest.TestCase):
    def test_every_pair_of_hosts_is_measured(self):
        for ranks_a_host, count in ((2, 2), (1, 5)):
            with self.subTest(count), Network(count) as hosts:
                ended = start(hosts, ranks_a_host, [], program=ALONE, RONDO_SECRET="correct horse")
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
            ended = start(hosts, 1, ["--timeout", "6"], program=ALONE, RONDO_SECRET="correct horse")
        (out, log), code = ended[0]
        self.assertEqual(code, 1, out + log)
        self.assertIn("between hosts by tcp: 3 pairs; median", out)
        self.assertRegex(out, r"/1 and \S+/2: 8 bytes arrive, and 4 MiB do not within 2 s: .*\n-> compare the MTU")
        self.assertEqual([code for _, code in ended[1:]], [0, 0])

    def test_a_way_that_drops_packets_in_one_direction_is_named_with_both_ends(self):
        with Network(3) as hosts:
            ip("-n", hosts.names[1], "neigh", "replace", "10.77.0.3", "lladdr", "02:00:00:00:00:01", "dev", "fabric0")
            ended = start(hosts, 1, ["--timeout", "4"], program=ALONE, RONDO_SECRET="correct horse")
        for (_, log), code in ended:
            self.assertEqual(code, 1, log)
            self.assertRegex(log, r"rondo-doctor: .*rank 1 \(.*\) cannot reach rank 2 \(.*\): 10.77.0.3:\d+: it did")

    def test_without_a_secret_it_says_what_to_set(self):
        with Network(2) as hosts:
            ended = start(hosts, 1, ["--timeout", "10"], program=ALONE)
        for (_, log), code in ended:
            self.assertEqual(code, 1, log)
            self.assertRegex(log, "rondo-doctor: .*RONDO_SECRET")


class GpuHosts(unittest.TestCase):
    """GPUs of one host share memory; between hosts, data goes through host memory."""

    def test_two_hosts_of_two_gpus_are_right(self):
        for algorithm in ("", "all_reduce=double_binary_tree"):
            with self.subTest(algorithm=algorithm):
                run_right(self, 2, ["all", "--memory", "cuda", "-b", "8", "-e", "64K", "-f", "16", "-n", "2"],
                          own_gpus=True, RONDO_ALGORITHM=algorithm)


def fabric_warnings(log):
    return [line for line in log.splitlines() if re.search("warning.*(InfiniBand|network plugin|reached by)", line)]


class Fabrics(unittest.TestCase):
    """RoCE between hosts, on the stand-in for libibverbs, which is first in LD_LIBRARY_PATH."""

    def run_perf(self, words=("all_reduce", "-e", "64K"), of_hosts=({}, {}), command=None, own_gpus=False,
                 gpus_of_nics=(), cpus=None, ranks_a_host=2, **variables):
        """Some ranks on each of two hosts; names of variables in one word are the stand-in's, which gets the command
        once the first result is there. Returns what all have printed to standard error, and the transports that were
        used."""
        def named(values):
            return {name if "_" in name else f"RONDO_STANDIN_VERBS_{name}": value for name, value in values.items()}

        def disturb(processes):
            if command is None:
                return
            while not (line := processes[0].stdout.readline()).strip().startswith("8 "):
                self.assertNotEqual(line, "", "rank 0 has ended")
            fabric = shutil.which("verbs_fabric", path=os.environ["LD_LIBRARY_PATH"])  # beside the library
            subprocess.run([fabric, folder, "command", command], check=True)

        with tempfile.TemporaryDirectory() as folder, Network(2) as hosts:
            os.makedirs(f"{folder}/sys/class/infiniband/rondo_0")
            if gpus_of_nics:
                put_below_roots(f"{folder}/sys", gpus_of_nics)
                put_on_nodes(f"{folder}/sys", sorted(set(cpus or [])))
                variables["SYS"] = f"{folder}/sys"
            words = [*words, "-b", "8", "-f", "64", "-n", "2", "--json", f"{folder}/rows.json"]
            ended = start(hosts, ranks_a_host, words, own_gpus=own_gpus, cpus=cpus, meanwhile=disturb,
                          of_hosts=[dict(named(of_hosts[i]), RONDO_STANDIN_VERBS_HOST=str(i)) for i in (0, 1)],
                          RONDO_SECRET="correct horse", SYSFS_PATH=f"{folder}/sys", RONDO_STANDIN_VERBS=folder,
                          **named(variables))
            log = "".join(log for (_, log), _ in ended)
            if any(code != 0 for _, code in ended):
                return log, {"failed"}
            with open(f"{folder}/rows.json", encoding="utf-8") as file:
                rows = json.load(file)["results"]
        self.assertTrue(rows and all(row["wrong"] == 0 for row in rows), rows)
        return log, {row["transport"] for row in rows}

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
                          RONDO_SECRET="correct horse", SYSFS_PATH=f"{folder}/sys", RONDO_STANDIN_VERBS=folder,
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

    def run_shares(self, *words, **variables):
        log, used = self.run_perf((",".join(IN_SHARES), "-e", "256K", *words),
                                  RONDO_ALGORITHM=";".join("=".join(rule) for rule in IN_SHARES.items()), **variables)
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        return log

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


class GpuFabrics(unittest.TestCase):
    run_perf = Fabrics.run_perf
    run_shares = Fabrics.run_shares

    def check_path(self, expected, calls="all_reduce,all_to_all,sendrecv", up_to="512K", **variables):
        """Every GPU's messages go where this says; host code that touches memory of a GPU is ended by the stand-in."""
        log, used = self.run_perf((calls, "--memory", "cuda", "-e", up_to), own_gpus=True,
                                  **{"RONDO_STANDIN_GUARD": "1", **variables})
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        paths = re.findall(r"messages between GPU \d and rank \d (.*)", log)
        self.assertTrue(paths, log)
        for path in paths:
            self.assertRegex(path, expected)
        return log

    def test_messages_of_gpus_near_a_port_pass_through_their_memory(self):
        log = self.check_path("^pass through memory of the GPU$", gpus_of_nics=[range(4)])
        self.assertRegex(log, r"\d+ bytes of a GPU are registered with rondo_0 by a dmabuf")

    def test_other_gpus_are_told_why_theirs_do_not(self):
        for variables, expected in (
                ({}, r"of the host: rondo_0:1 is not below the same PCI root as the GPU \(RONDO_IB_GPU_DIRECT=1 uses"),
                ({"RONDO_IB_GPU_DIRECT": "0"}, r"of the host: RONDO_IB_GPU_DIRECT is 0"),
                ({"RONDO_IB_GPU_DIRECT": "1", "RONDO_STANDIN_RDMA": "none"}, r"of the host: GPU \d has no GPUDirect"),
                ({"RONDO_IB_GPU_DIRECT": "1", "DMABUF": "0"}, r"of the host: its memory was not registered"),
                ({"RONDO_IB_GPU_DIRECT": "1", "DMABUF": "0", "RONDO_IB_ODP": "1"}, "of the host: its memory was not"),
                ({"RONDO_IB_GPU_DIRECT": "1", "RONDO_SLOT_BYTES": "8K"}, "of the host: slots of 8192 bytes are short")):
            log = self.check_path(expected, calls="all_reduce", up_to="4K", RONDO_STANDIN_GUARD="0", **variables)
            if "DMABUF" in variables:
                self.assertRegex(log, r"registering \d+ bytes of a GPU with rondo_0: ibv_reg_dmabuf_mr: Operation not "
                                      r"supported; without a dmabuf: Bad address \(is nvidia-peermem loaded\?\)")

    def test_gpus_that_use_tcp_after_all_are_told_so(self):
        log, used = self.run_perf(("all_reduce", "--memory", "cuda", "-e", "64K"), own_gpus=True,
                                  RONDO_IB_GPU_DIRECT="1", GIDS="v2 10.9.%p.%h lo", AT="0 drop 10.9.1.1 10.9.1.2")
        self.assertTrue(any("tcp" in row for row in used), log)
        self.assertRegex(log, r"GPU \d and rank \d pass through memory of the host: the transport does not reach it")

    def test_without_dmabufs_nvidia_peermem_is_enough(self):
        log = self.check_path("^pass through memory of the GPU$", RONDO_IB_GPU_DIRECT="1", RONDO_STANDIN_DMABUF="0",
                              RONDO_STANDIN_RDMA="flushed", RONDO_STANDIN_SEED="1", HOLD="1", PEERMEM="1")
        self.assertRegex(log, r"of a GPU are registered with rondo_0 by nvidia-peermem: CUDA's driver gives no dmabuf")

    def test_writes_are_flushed_as_gpus_need_it(self):
        """With HOLD what is not flushed never comes."""
        for rdma in ("flushed", "unordered"):
            self.check_path("^pass through memory of the GPU$", gpus_of_nics=[range(4)], RONDO_STANDIN_RDMA=rdma,
                            HOLD="1")

    def test_a_port_that_fails_costs_copies_and_nothing_else(self):
        log, used = self.run_perf(("all_reduce,all_to_all", "--memory", "cuda", "-e", "512K"), own_gpus=True,
                                  command="port_down 0/rondo_0:1", RONDO_STANDIN_GUARD="1", RONDO_IB_GPU_DIRECT="1")
        self.assertNotIn("failed", used, log)
        self.assertIn("pass through memory of the GPU", log)
        self.assertRegex("".join(fabric_warnings(log)), r"rank \d.* is reached by tcp: ")

    def test_ranks_carry_as_much_between_hosts_as_the_cards_near_their_gpus_allow(self):
        """Of both hosts: two GPUs near one card, a third near another."""
        near = {"own_gpus": True, "ranks_a_host": 3, "DEVICES": "roce:1:10,roce:1:10", "RONDO_STANDIN_DEVICES": "6"}
        log = self.run_shares("--memory", "cuda", gpus_of_nics=[(0, 1, 3, 4), (2, 5)], **near)
        self.assertEqual(log.count("the ranks of a host carry 1:1:2 parts of a vector between hosts"), 1, log)
        log, _ = self.run_perf(("all_reduce", "--memory", "cuda", "-e", "4K"), gpus_of_nics=[range(6), ()], **near)
        self.assertNotIn("the ranks of a host carry", log)

    def test_messages_of_gpus_leave_from_memory_that_gpus_fill(self):
        log, used = self.run_perf(("all_reduce,all_to_all,sendrecv", "--memory", "cuda", "-e", "64K"), own_gpus=True,
                                  of_hosts=({"RONDO_LOG": "debug"}, {"RONDO_LOG": "debug"}))
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        self.assertRegex(log, r"messages from \d+ bytes of registered memory leave from where they are")


class Plugins(unittest.TestCase):
    """A network plugin between hosts: the tests' own, in the folder RONDO_TEST_NET_FOLDER."""

    def run_perf(self, words=("all_reduce", "-e", "64K"), addresses=("10.77.0.1", "10.77.0.2"), of_hosts=({}, {}),
                 plugin="test11"):
        """Two ranks on each of two hosts, whose plugins listen at these addresses. Returns what all have printed to
        standard error, and the transports that were used."""
        file = f"{os.environ['RONDO_TEST_NET_FOLDER']}/libnccl-net-{plugin}.so"
        with tempfile.TemporaryDirectory() as folder, Network(2) as hosts:
            ended = start(hosts, 2, [*words, "-b", "8", "-f", "64", "-n", "2", "--json", f"{folder}/rows.json"],
                          of_hosts=[{"RONDO_TEST_NET_ADDRESS": addresses[i], "RONDO_NET_PLUGIN": file, **of_hosts[i]}
                                    for i in (0, 1)], RONDO_SECRET="correct horse", RONDO_IB_PORTS="none")
            log = "".join(log for (_, log), _ in ended)
            self.assertEqual([code for _, code in ended], [0] * 4, log)
            with open(f"{folder}/rows.json", encoding="utf-8") as file:
                rows = json.load(file)["results"]
        self.assertTrue(rows and all(row["wrong"] == 0 for row in rows), rows)
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
    if not possible():
        print("skipped: network namespaces need root and iproute2")
        sys.exit(77)
    unittest.main()
