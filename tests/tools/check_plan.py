#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-plan as a user runs it: plans verified, timed, compared, written and read again, and what it refuses.

Usage: check_plan.py RONDO_PLAN SOURCE-ROOT SANITIZERS
"""
import glob
import os
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

from plan_command import DATA, PLAN, SANITIZED, algorithms, output, plan

COLLECTIVES = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "gather", "scatter",
               "barrier", "scan", "exscan")
WRITTEN = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1}
MAX_S, MAX_KIB = 1, 64 << 10


def seconds(text):
    number, unit = text.split()
    return float(number) * UNITS[unit]


def rows(table):
    """Size, seconds, bus bandwidth and share of the limit of each row of `simulate`."""
    return [(size.strip(), seconds(time), float(bus), limit) for size, time, bus, limit in
            re.findall(r"(?m)^ +([\d.]+ \w+) +([\d.]+ \w+) +([\d.]+) +(\S+)$", table)]


class Plans(unittest.TestCase):
    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_every_algorithm_verifies_or_says_what_it_does_not_serve(self):
        verified = set()
        for collective in COLLECTIVES:
            for name in algorithms(collective):
                for group in ("1", "4"):
                    result = plan("verify", f"{collective}={name}", "--ranks", "8", "--group", group)
                    if result.returncode == 0:
                        self.assertRegex(result.stdout, r"\nverifies with \d slots? of each connection, also in place")
                        verified.add(f"{collective}={name}")
                    else:
                        self.assertRegex(result.stderr, f"^rondo-plan: .*{collective} by {name} does not serve 8 ranks")
        every = {f"{collective}={name}" for collective in COLLECTIVES for name in algorithms(collective)}
        self.assertEqual(verified, every)

    def test_a_proof_names_the_order_of_operands(self):
        self.assertIn("operands are combined in one fold", output("verify", "all_reduce=one_shot", "--ranks", "3"))
        self.assertIn("operands are combined in own order", output("verify", "all_reduce=ring", "--ranks", "3"))
        self.assertNotIn("operands", output("verify", "all_gather=ring", "--ranks", "3"))

    def test_steps_are_those_of_the_rank(self):
        steps = output("steps", "all_reduce=ring", "--ranks", "4")
        self.assertEqual({line.split(" lane")[0] for line in steps.splitlines()}, {f"rank {rank}" for rank in range(4)})
        of_rank = output("steps", "all_reduce=ring", "--ranks", "4", "--rank", "2")
        self.assertEqual(of_rank.splitlines()[0], "rank 2 lane 0 step 0: input[1], send 3")
        self.assertEqual(len(of_rank.splitlines()), 7)
        refused = plan("steps", "all_reduce=ring", "--ranks", "4", "--rank", "4").stderr
        self.assertIn("--rank is 4: expected 0 to 3", refused)

    def test_a_ring_takes_the_time_of_the_textbook(self):
        for ranks in (2, 5, 8):
            table = output("simulate", "all_gather=ring", "--ranks", str(ranks), "--bytes", "1M,64M", "--tiles", "1",
                           "--latency", "3", "--bandwidth", "10")
            for (size, time, bus, limit), mib in zip(rows(table), (1, 64)):
                self.assertEqual(size, f"{mib} MiB")
                expected = (ranks - 1) * (3e-6 + mib * 2**20 / ranks / 10e9)
                self.assertAlmostEqual(time / expected, 1, delta=0.01)
                self.assertAlmostEqual(bus, (ranks - 1) / ranks * mib * 2**20 / expected / 1e9, delta=0.1)
                self.assertEqual(limit, "-")

    def test_found_plans_come_near_the_limit_of_their_machine(self):
        for machine, name, least in (("hgx-h100", "forest", 97), ("dgx-1v", "forest", 85), ("dgx-1v", "rings", 85)):
            table = output("simulate", f"all_gather={name}", "--machine", machine, "--bytes", "1G")
            self.assertIn(f"\non {machine}, 2 us of latency", table)
            share = float(rows(table)[0][3].rstrip("%"))
            self.assertGreater(share, least, table)
            self.assertLessEqual(share, 100, table)

    def test_ranks_of_several_hosts_have_the_network_between_them(self):
        near = rows(output("simulate", "all_gather=ring", "--machine", "hgx-h100", "--ranks", "8"))
        far = rows(output("simulate", "all_gather=ring", "--machine", "hgx-h100", "--hosts", "2"))
        self.assertLess(far[0][2], near[0][2])

    def test_ranks_of_a_group_carry_what_their_weights_say(self):
        call = ("all_reduce=hierarchical", "--ranks", "6", "--group", "3", "--weights", "1,1,2")
        self.assertIn("8 parts of the vector\nverifies with 1 slot", output("verify", *call))
        text = output("explain", *call)
        self.assertIn("the ranks of a group carry 1:1:2 parts of the vector between groups\n", text)
        # Of 64 MiB: half is for the two others to carry, half goes to the other group, and that half to both others.
        self.assertIn("port out of rank 2: 128 MiB", text)

    def test_an_explanation_adds_up(self):
        for arguments in (("all_gather=forest", "--machine", "dgx-1v"), ("all_reduce=ring", "--ranks", "8"),
                          ("broadcast=binomial", "--machine", "hgx-h100")):
            text = output("explain", *arguments, "--bytes", "64K,64M")
            for part in re.split(r"(?m)^(?=6)", text)[1:]:
                total = seconds(part.split(": ")[1].split("\n")[0])
                times = [seconds(time) for time in re.findall(r" ([\d.]+ (?:us|ms|s)) +[\d.]+%\n", part)]
                self.assertEqual(len(times), 3, part)
                self.assertAlmostEqual(sum(times) / total, 1, delta=0.02, msg=part)
        self.assertRegex(output("explain", "all_gather=forest", "--machine", "dgx-1v"),
                         r"bus bandwidth [\d.]+ GB/s, [\d.]+% of the limit of 120.0 GB/s: 6 NVLinks into gpu0, ")

    def test_a_barrier_takes_its_rounds_once(self):
        text = output("explain", "barrier=dissemination", "--ranks", "8", "--latency", "5")
        self.assertIn(": 15.0 us\n  rounds        3 x 5 us", text)

    def test_a_difference_names_figures_pairs_and_steps(self):
        text = output("diff", "all_gather=ring", "all_gather=forest", "--machine", "hgx-h100")
        self.assertRegex(text, r"(?m)^lanes of a rank +1 +8$")
        self.assertRegex(text, r"(?m)^0 -> 1 +7 messages, 0.875 vectors +1 message, 0.125 vectors$")
        self.assertRegex(text, r"(?m)^time of 64 MiB +\S+ us, \S+ GB/s +\S+ us, \S+ GB/s$")
        self.assertIn("rank 0 lane 0 step 0\n  A  input[0] -> output[0], send 1\n"
                      "  B  input[0] -> output[0], send 1 2 ", text)
        self.assertEqual(output("diff", "all_gather=ring", "all_gather=ring"), "no difference\n")

    def test_what_is_exported_is_imported_and_carries_the_same_bytes(self):
        path = os.path.join(self.folder(), "plan.xml")
        for collective in WRITTEN:
            for name in algorithms(collective):
                exported = plan("export", f"{collective}={name}", "--ranks", "6", "--output", path)
                if "does not serve" in exported.stderr:
                    continue
                self.assertEqual(exported.returncode, 0, exported.stderr)
                text = output("import", path)
                self.assertRegex(text, rf"^{collective} by {name}, 6 ranks")
                self.assertIn("\nverifies with ", text)
                same = output("diff", f"{collective}={name}", path, "--ranks", "6")
                # Several chunks of a message may be several messages.
                for before, after in re.findall(r"(?m)^\d+ -> \d+ .*, (\S+) vectors .*, (\S+) vectors$", same):
                    self.assertEqual(before, after, same)
                self.assertNotRegex(same, r"(?m)^\d+ -> \d+ .* -( |$)", same)
        xml.etree.ElementTree.fromstring(output("export", "all_gather=forest", "--machine", "dgx-1v"))

    def test_what_a_file_cannot_say_is_refused(self):
        for name, sentence in (("broadcast=chain", "MSCCL's files have no broadcast"),
                               ("all_reduce=ring --ranks 1", "it has one rank")):
            result = plan("export", *name.split())
            self.assertEqual(result.returncode, 1)
            self.assertIn(sentence, result.stderr)
        if DATA is not None:  # several thread blocks share its scratch
            waits = plan("export", f"{DATA}/algorithms/a100-allreduce-8gpu-allpairs-ll.xml")
            self.assertRegex(waits.stderr, r"rank 0 lane \d+ step \d+ \(.*\) waits for the tile before")

    def test_recorded_files_are_what_they_say(self):
        if DATA is None:
            print("skipped: recorded algorithms, since RONDO_TEST_DATA is not set")
            return
        paths = glob.glob(f"{DATA}/algorithms/*.xml")
        self.assertGreater(len(paths), 10)
        for path in paths:
            result = plan("import", path)
            if "ndv2-allreduce" in path:
                self.assertRegex(result.stderr, re.escape(path) + r":279: .* adds different chunks")
                continue
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("\nverifies with 1 slot of each connection", result.stdout)

    def bad_files(self):
        """Name, content, and what is said of it after the path."""
        ring = output("export", "all_gather=ring", "--ranks", "3")
        sends_nothing = ring.replace('type="s"', 'type="r"')
        return {"empty": ("", r":1: "),
                "malformed": ("<algo name=>", r":1: not well-formed XML"),
                "another": ("<system/>", r":1: <system>: expected <algo>"),
                "cut": (ring[:len(ring) // 2], r":\d+: not well-formed XML.*is it cut off\?"),
                "cyclic": (sends_nothing, r":\d+: <step> of type r"),
                "type": (ring.replace('type="rcs"', 'type="rcz"', 1), r':\d+: <step> has type="rcz": expected s, r, '),
                "peer": (ring.replace('recv="2"', 'recv="7"'), r":3: .*7"),
                "entities": ('<!DOCTYPE a [<!ENTITY b "c">]>' + ring, r":1: <!DOCTYPE ...>: expected none"),
                "deep": (ring.replace("<gpu", "<a>" * 5_000 + "<gpu", 1), r":2: <a> within <algo>: expected <gpu>"),
                "blank": (" " * (5 << 20), r":1: not well-formed XML: no element: expected <algo>"),
                "many": (ring.replace("</gpu>", "</gpu>" + '<gpu id="0"/>' * 100_000, 1), r":\d+: a second <gpu> with"),
                "binary": ("\0\1\2" * 1000, r":1: ")}

    def measured(self, *arguments):
        """Exit code, output and errors of a program that takes little time and memory."""
        with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
            with subprocess.Popen([PLAN, *arguments], stdout=printed, stderr=said) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            if not SANITIZED:
                self.assertLess(used.ru_utime + used.ru_stime, MAX_S, arguments)
                self.assertLess(used.ru_maxrss, MAX_KIB, arguments)
            printed.seek(0)
            said.seek(0)
            return process.returncode, printed.read(), said.read()

    def test_a_bad_file_is_refused_with_its_line_at_once_and_in_little_memory(self):
        folder = self.folder()
        for name, (content, sentence) in self.bad_files().items():
            path = os.path.join(folder, name + ".xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            for command in ("import", "verify"):
                code, _, said = self.measured(command, path)
                self.assertEqual(code, 1, (name, said))
                self.assertRegex(said, r"^rondo-plan: rondo_plan_import: " + re.escape(path) + sentence, name)
                self.assertEqual(len(said.splitlines()), 1, said)

    def test_a_file_of_a_million_steps_is_read_in_little_time_and_memory(self):
        path = os.path.join(self.folder(), "long.xml")
        for chunks, code, sentence in ((31_250, 0, ""), (31_251, 1, ":39: more than 1000000 steps of one chunk: exp")):
            step = '<step s="{}" type="{}" srcbuf="{}" srcoff="0" dstbuf="o" dstoff="0" cnt="' + str(chunks) + '"/>'
            with open(path, "w", encoding="utf-8") as file:
                print(f'<algo nchunksperloop="{chunks}" ngpus="2" coll="allreduce">', file=file)
                for gpu in (0, 1):
                    print(f'<gpu id="{gpu}">\n<tb id="0" send="{1 - gpu}" recv="{1 - gpu}">', file=file)
                    for i in range(16):
                        kind = "rrc" if (gpu, i) == (1, 0) else "sr"[(gpu + i) % 2]
                        print(step.format(i, kind, "i" if i == 0 else "o"), file=file)
                    print("</tb>\n</gpu>", file=file)
                print("</algo>", file=file)
            ended, _, said = self.measured("steps", path, "--rank", "0")
            self.assertEqual(ended, code, said)
            self.assertIn(sentence, said)
            if code == 0:
                self.assertIn("\nverifies with 1 slot of each connection", output("import", path))

    def test_plans_of_many_ranks_verify_or_are_too_large_in_little_time_and_memory(self):
        path = os.path.join(self.folder(), "plan.xml")
        for name, ranks in (("reduce_scatter=direct", 32), ("all_reduce=two_shot", 32), ("all_to_all=direct", 48),
                            ("all_reduce=one_shot", 48), ("all_gather=direct", 56), ("all_reduce=halving_doubling", 96),
                            ("all_gather=recursive_doubling", 128), ("reduce_scatter=recursive_halving", 96)):
            output("export", name, "--ranks", str(ranks), "--output", path)
            code, printed, said = self.measured("import", path)
            self.assertEqual((code, said), (0, ""), name)
            self.assertRegex(printed, r"\nverifies with 1 slot of each connection, also in place\n", name)
        output("export", "all_reduce=two_shot", "--ranks", "64", "--output", path)
        for arguments, what in ((("import", path), r"the order of its 8064 lanes takes \d+ entries and \d+ "),
                                (("verify", "all_reduce=ring", "--ranks", "256"), r"262\d\d\d chunks of its buffers")):
            code, _, said = self.measured(*arguments)
            self.assertEqual(code, 1, arguments)
            self.assertRegex(said, r"rondo_plan_verify: it is too large to be verified: " + what)

    def test_a_file_that_does_something_else_does_not_verify(self):
        path = os.path.join(self.folder(), "wrong.xml")
        text = output("export", "all_gather=ring", "--ranks", "2")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace('type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1"',
                                    'type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="0"'))
        result = plan("import", path)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\ndoes not verify: .*rank 0")

    def test_bad_options_are_refused_by_name(self):
        for arguments in ((), ("paint",), ("verify",), ("verify", "--ranks", "0", "all_reduce=ring"), ("diff", "one"),
                          ("verify", "x", "--load", "a", "--machine", "b"), ("simulate", "x", "--slots", "0"),
                          ("show", "all_reduce=ring", "--bytes", "1M,2M"), ("verify", "x", "--machine", "")):
            result = plan(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertTrue(result.stderr, arguments)
        ring = ("all_reduce=ring", "--ranks", "4")
        for arguments, sentence in ((("verify", "all_reduce=rinng"), "did you mean ring?"),
                                    (("verify", "all_reduc=ring"), "did you mean all_reduce?"),
                                    (("explain", "all_reduc"), "did you mean all_reduce?"),
                                    (("explain", "all_reduce", "--ranks", "4", "--hosts", "3"), "a divisor of 4 ranks"),
                                    (("verify", "all_gather=forest"), "give --machine or --load"),
                                    (("verify", "all_gather=forest", "--machine", "dgx-1v", "--ranks", "9"), "8 GPUs"),
                                    (("simulate", *ring, "--bytes", "much"), "--bytes: 'much'"),
                                    (("simulate", *ring, "--bytes", ","), "--bytes: '': give bytes"),
                                    (("simulate", *ring, "--bytes", ""), "--bytes: it names no size"),
                                    (("steps", *ring, "--rank", "4"), "--rank is 4: expected 0 to 3"),
                                    (("verify", "broadcast=chain", "--root", "8"), "call->root is 8: expected 0 to 7"),
                                    (("verify", *ring, "--group", "5"), "call->group is 5: expected 1 to 4"),
                                    (("verify", *ring, "--group", "2", "--weights", "1,2,3"), "--weights: there are 3"),
                                    (("verify", *ring, "--weights", "0"), "--weights: Value 0 not in range 1 to 64"),
                                    (("explain", "scan", "--weights", "2"), "--weights: expected only for COLLECTIVE="),
                                    (("simulate", "scan=chain", "--machine", "dgx-3"), "no machine is called 'dgx-3'"),
                                    (("simulate", "scan=chain", "--machine", "dgx-1v", "--ranks", "9"), "8 GPUs")):
            result = plan(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(sentence, result.stderr)

    def test_what_cannot_be_done_is_no_wrong_option(self):
        for arguments, sentence in ((("verify", "no/such/file.xml"), "no/such/file.xml: No such file"),
                                    (("verify", "all_reduce=ring", "--load", "/nowhere.xml"), "/nowhere.xml: No such"),
                                    (("export", "all_gather=ring", "--output", "/nowhere/x.xml"), "/nowhere/x.xml: No"),
                                    (("verify", "all_reduce=leaders", "--ranks", "3"), "does not serve 3 ranks"),
                                    (("verify", "all_reduce=ring", "--weights", "2"), "8 ranks with weights"),
                                    (("show", "all_to_all=direct", "--ranks", "200"), "too many for a picture")):
            result = plan(*arguments)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn(sentence, result.stderr)

    def test_options_that_contradict_a_file_are_refused(self):
        path = os.path.join(self.folder(), "ring.xml")
        output("export", "all_gather=ring", "--ranks", "4", "--output", path)
        for arguments, sentence in ((("verify", path, "--ranks", "8"), f"--ranks is 8: {path} is for 4"),
                                    (("diff", "all_gather=ring", path, "--ranks", "3"), f"3: {path} is for 4"),
                                    (("steps", path, "--root", "0"), "--root: expected only for COLLECTIVE=ALGORITHM"),
                                    (("simulate", f"file:{path}", "--group", "2"), "--group: expected only for"),
                                    (("simulate", path, "--weights", "2"), "--weights: expected only for"),
                                    (("diff", path, path, "--root", "1"), "--root: expected only for")):
            result = plan(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(sentence, result.stderr)
        self.assertEqual(output("verify", path, "--ranks", "4"), output("verify", path))
        self.assertTrue(output("diff", "all_gather=ring", path, "--ranks", "4", "--group", "2"))

    def test_options_without_effect_are_refused(self):
        path = os.path.join(self.folder(), "ring.xml")
        output("export", "all_gather=ring", "--ranks", "4", "--output", path)
        ring, machine = "all_reduce=ring", ("--machine", "dgx-1v")
        for arguments, sentence in ((("explain", ring, "--cpus", "4"), "--cpus: expected only for a COLLECTIVE"),
                                    (("explain", path, "--cpus", "4"), "--cpus: expected only for a COLLECTIVE"),
                                    (("simulate", ring, *machine, "--bandwidth", "3"), "--bandwidth: expected only wi"),
                                    (("simulate", ring, "--all-links"), "--all-links: expected only with a machine"),
                                    (("verify", ring, "--hosts", "2"), "--hosts: expected only with a machine"),
                                    (("verify", path, *machine), "--machine: expected only for COLLECTIVE=ALGORITHM"),
                                    (("steps", path, "--load", "x"), "--load: expected only for COLLECTIVE=ALGORITHM"),
                                    (("export", path, *machine), "--machine: expected only for COLLECTIVE=ALGORITHM"),
                                    (("explain", "all_reduce", "--tiles", "2"), "--tiles: expected only with"),
                                    (("explain", "scan", "--latency", "2"), "--latency: expected only with a m"),
                                    (("explain", "scan", "--slots", "2"), "--slots: expected only with a machine"),
                                    (("explain", "scan", "--bandwidth", "2"), "--bandwidth: expected only with a mac"),
                                    (("verify", ring, "--root", "0"), "--root: expected only for a collective with a "),
                                    (("explain", "scan", "--root", "1"), "--root: expected only for a collective with"),
                                    (("show", ring, "--animate", "--bars"), "--animate excludes --bars"),
                                    (("export", ring, "--output", ""), "it names no file"),
                                    (("verify", ring, *machine, "--ranks", "9"), "9: the machine has 8 GPUs")):
            result = plan(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(sentence, result.stderr)
        for arguments in (("simulate", path, *machine), ("diff", ring, "reduce=chain", "--root", "0"),
                          ("explain", "all_reduce", *machine, "--tiles", "2", "--slots", "3", "--all-links")):
            self.assertTrue(output(*arguments), arguments)

    def test_a_full_disk_is_noticed(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([PLAN, "steps", "all_reduce=ring"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "^rondo-plan: .*No space left")


if __name__ == "__main__":
    unittest.main(verbosity=1)
