#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What rondo-plan and rondo-perf tell about a choice and its time: the same, and it adds up.

Usage: check_explain.py RONDO_PLAN RONDO_PERF RONDO_TOPO
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

PLAN, PERF, TOPO = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
PART = re.compile(r"(?m)^  (?:rounds|messages|bytes|cache misses|folds) .* ([\d.]+) (us|ms|s) +[\d.]+%$")


def run(*command, code=0, **variables):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RONDO_")}
    ended = subprocess.run(command, env={**environment, "RONDO_CALIBRATION": "0", **variables}, capture_output=True,
                           text=True, timeout=60, check=False)
    if ended.returncode != code:
        raise AssertionError(f"{command}: exit code {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout if code == 0 else ended.stderr


def of_perf(collective, ranks, size, **variables):
    printed = run(PERF, collective, "-t", ranks, "-b", size, "-e", size, "--explain", **variables)
    return re.search(rf"(?ms)^{collective}\(.*?\n(?=\n)", printed)[0]


def of_plan(*words, **variables):
    return run(PLAN, "explain", *words, **variables)


def parts(text):
    """The parts of a predicted time in seconds."""
    return [float(number) * UNITS[unit] for number, unit in PART.findall(text)]


class Explanations(unittest.TestCase):
    def test_both_programs_tell_the_same_about_a_choice(self):
        for collective, ranks, size in (("all_reduce", "4", "1M"), ("all_reduce", "2", "64"), ("scan", "5", "1M"),
                                        ("all_gather", "3", "64K"), ("broadcast", "8", "16K"), ("barrier", "4", "0"),
                                        ("barrier", "4", "1M")):
            with self.subTest(collective=collective, ranks=ranks, size=size):
                self.assertEqual(of_plan(collective, "--ranks", ranks, "--bytes", size),
                                 of_perf(collective, ranks, size))

    def test_requests_have_their_effect_in_both(self):
        requested = {"RONDO_ALGORITHM": "all_reduce=ring", "RONDO_GROUP": "2", "RONDO_SLOT_BYTES": "4096",
                     "RONDO_REPRODUCIBLE": "0"}
        text = of_plan("all_reduce", "--ranks", "4", "--bytes", "1M", **requested)
        self.assertIn("uses ring@connections, which was requested, in chunks of up to 4096 bytes", text)
        self.assertEqual(text, of_perf("all_reduce", "4", "1M", **requested))

    def test_plans_by_links_can_be_requested_on_paper(self):
        forest = {"RONDO_ALGORITHM": "all_reduce=forest"}
        text = of_plan("all_reduce", "--machine", "dgx-1v", "--bytes", "1M", **forest)
        self.assertIn("uses forest@connections, which was requested", text)
        self.assertRegex(run(PLAN, "explain", "all_reduce", "--machine", "hgx-h100", "--ranks", "16", code=2, **forest),
                         r"by forest was requested, but there is no such plan: .*the machine has 8 GPUs for 16 ranks")
        self.assertRegex(run(PLAN, "explain", "all_reduce", "--group", "-1", code=2), r"--group: Value -1 not in range")

    def test_parts_on_links_that_overlap_add_up_too(self):
        text = of_plan("all_reduce=rings", "--machine", "mi250", "--bytes", "1M", "--tiles", "1", "--slots", "4")
        self.assertRegex(text, r"(?m)^  overlap .* -[\d.]+ us +-[\d.]+%$")
        shares = [float(share) for share in re.findall(r"(?m)^  (?:rounds|busiest link|overlap) .* (-?[\d.]+)%$", text)]
        self.assertAlmostEqual(sum(shares), 100, delta=0.2)

    def test_the_parts_are_the_predicted_time_of_the_choice(self):
        for words in (("all_reduce", "--bytes", "1M"), ("all_reduce", "--bytes", "64"), ("all_gather", "--hosts", "2"),
                      ("all_reduce", "--hosts", "4", "--ranks", "16", "--group", "2", "--bytes", "256K"),
                      ("reduce", "--cpus", "1", "--bytes", "32K"), ("broadcast", "--cpus", "64")):
            with self.subTest(words=words):
                text = of_plan(*words)
                name, executor = re.search(r"(?m)^uses (\w+)@(\w+), with the lowest predicted time", text).groups()
                table = re.search(rf"(?ms)^predicted over {executor} .*?^  {name} +([\d.]+) us\b", text)
                number, unit = re.search(r"(?m)^predicted time: ([\d.]+) (\w+)$", text).groups()
                self.assertAlmostEqual(float(number) * UNITS[unit] / (float(table[1]) * 1e-6), 1, delta=0.01)
                self.assertAlmostEqual(sum(parts(text)) / (float(table[1]) * 1e-6), 1, delta=0.02, msg=text)

    def test_what_was_rejected_has_its_reason(self):
        text = of_plan("all_reduce", "--ranks", "8", "--bytes", "1M")
        self.assertRegex(text, r"(?m)^not shm_pull \(.*\): its vector is longer$")
        self.assertRegex(text, r"(?m)^  leaders +- us .*not chosen: its ranks are not in equal groups")
        self.assertRegex(of_plan("all_gather", "--ranks", "3", "--bytes", "64"),
                         r"ring .*not chosen: it is not made of one or two rounds")

    def test_hosts_are_levels_without_shared_memory(self):
        text = of_plan("all_reduce", "--ranks", "8", "--hosts", "2", "--bytes", "8")
        self.assertNotIn("shm_pull", text)
        self.assertRegex(text, r"(?m)^  rounds +\d+ x 15 us  .*\n(?:.*\n)*?  rounds .* within groups of 4 ranks ")

    def test_a_scan_over_many_hosts_scans_within_them_and_keeps_few_connections(self):
        for collective in ("scan", "exscan"):
            text = of_plan(collective, "--ranks", "136", "--hosts", "17", "--bytes", "64K")
            self.assertRegex(text, r"(?m)^uses hierarchical_doubling@connections, with the lowest predicted time")
            self.assertRegex(text, r"(?m)^  bytes .* within groups of 8 ranks ")
            self.assertRegex(text, r"(?m)^  recursive_doubling .*last resort: connects with more hosts than others$")
            self.assertRegex(text, r"(?m)^  flat .*last resort: connects with every host$")

    def test_on_a_machine_the_choice_has_its_share_of_the_limit(self):
        text = of_plan("all_gather", "--machine", "dgx-1v", "--bytes", "1M,64M")
        choices = re.split(r"(?m)^(?=all_gather\(count)", text)[1:]
        self.assertEqual(len(choices), 2)
        for size, choice in zip(("1M", "64M"), choices):
            name = re.search(r"(?m)^uses (\w+)@", choice)[1]
            on_links = of_plan(f"all_gather={name}", "--machine", "dgx-1v", "--bytes", size)
            self.assertTrue(choice.rstrip("\n").endswith(on_links.rstrip("\n")), choice)
            self.assertRegex(on_links, r"bus bandwidth [\d.]+ GB/s, [\d.]+% of the limit of 120.0 GB/s: 6 NVLinks ")
        self.assertIn("16 ranks", of_plan("all_reduce", "--machine", "hgx-h100", "--hosts", "2", "--bytes", "64M"))

    def test_a_plan_for_a_machine_has_its_share_of_the_limit_in_both(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "machine.xml")
            run(TOPO, "--machine", "dgx-1v", "--save", path)
            for name in ("forest", "rings"):
                told = of_perf("all_gather", "8", "64M", RONDO_TOPO_FILE=path, RONDO_ALGORITHM=f"all_gather={name}")
                _, links = told.split("predicted on the links of the ranks' GPUs, 2 us of latency, 2 slots of each "
                                      "connection, in 8 tiles\n")
                expected = of_plan(f"all_gather={name}", "--load", path, "--bytes", "64M").split("\n", 2)[2]
                self.assertEqual(links, expected)
                self.assertRegex(links, r"[\d.]+% of the limit of 120.0 GB/s: 6 NVLinks into gpu0")

    def test_what_cannot_be_explained_is_refused(self):
        for words, sentence in ((("all_reduc",), "did you mean all_reduce?"),
                                (("all_reduce", "--ranks", "8", "--hosts", "3"), "job->hosts is 3: expected a divisor"),
                                (("reduce", "--root", "8"), "root is 8"),
                                (("all_reduce", "--ranks", "4", "--group", "8"), "job->group is 8: expected 0 to 4"),
                                (("all_reduce", "--bytes", "x"), "--bytes: 'x'")):
            self.assertIn(sentence, run(PLAN, "explain", *words, code=2))
        self.assertIn("--cpus", run(PLAN, "explain", "all_reduce", "--cpus", "0", code=2))


if __name__ == "__main__":
    unittest.main(verbosity=1)
