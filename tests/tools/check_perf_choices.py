#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The algorithms that rondo-perf runs: requested, explained (--explain) and saved (--rules).

Usage: check_perf_choices.py RONDO_PERF
"""
import os
import re
import tempfile
import unittest

from perf_command import PerfCase

# An all_gather of two ranks, in MSCCL's XML.
SWAP = ('<algo name="swap" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0">{}'
        '</algo>')
SWAP_STEP = ('<step s="{s}" type="{kind}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="{to}" cnt="1" depid="-1" deps="-1"'
             ' hasdep="0"/>')
SWAP_GPU = ('<gpu id="{own}" i_chunks="1" o_chunks="2" s_chunks="0"><tb id="0" send="{other}" recv="{other}" chan="0">'
            + SWAP_STEP.format(s=0, kind="cpy", to="{own}") + SWAP_STEP.format(s=1, kind="s", to="{own}")
            + SWAP_STEP.format(s=2, kind="r", to="{other}") + "</tb></gpu>")


class Explanations(PerfCase):
    def explain(self, *arguments, **more):
        result = self.ended(*arguments, "--explain", **more)
        return result.stdout + result.stderr

    def test_the_choice_and_what_speaks_against_the_others(self):
        text = self.explain("all_reduce", "--ranks", "4", "-b", "4M", "-e", "4M")
        self.assertIn("all_reduce(count=1048576, float32, sum) of 4 ranks, 4194304 bytes", text)
        uses = r"(?m)^uses (\w+)@connections, with the lowest predicted time, in chunks of up to \d+ bytes$"
        chosen = re.search(uses, text)[1]
        times = {name: float(time) for name, time in re.findall(r"(?m)^  (\w+) +([\d.]+) us   ", text)}
        self.assertEqual(min(times, key=times.get), chosen)
        self.assertGreater(len(times), 4)
        reasons = set(re.findall(r"not chosen: (.*)", text))
        self.assertLessEqual(reasons, {"its ranks are not in equal groups (hosts, memory nodes, caches)"})

    def test_groups_of_near_ranks(self):
        sizes = ["-b", "1M", "-e", "1M"]
        text = self.explain("all_reduce", "-t", "4", *sizes, "--algorithm", "leaders", env={"RONDO_GROUP": "2"})
        self.assertRegex(text, r"predicted over connections \(.*; within groups of 2 ranks [\d.e-]+ and [\d.e-]+;")
        self.assertRegex(text, r"hierarchical +[\d.]+ us   own order; not chosen: another was requested\n")
        self.assertIn("  everywhere: (x0 + x1) + (x2 + x3)\n", text)
        by_ring = ["--algorithm", "hierarchical_ring"]
        text = self.explain("all_reduce", "-t", "8", *sizes, *by_ring, env={"RONDO_GROUP": "2,4"})
        self.assertRegex(text, r"; within groups of 4 ranks \S+ and \S+; within groups of 2 ranks \S+ and \S+;")
        for levels in "x", "2,3", "4,2", "2,", "0", "2,4,8,16,32":
            text = self.explain("all_reduce", "-t", "4", *sizes, env={"RONDO_GROUP": levels}, code=2)
            self.assertIn(f"RONDO_GROUP is '{levels}': it must be a whole number, or up to 4 of them", text)

    def test_a_short_call_is_exchanged(self):
        text = self.explain("all_reduce", "--ranks", "3", "-b", "64", "-e", "64")
        self.assertIn("uses one_shot@shm_pull, with the lowest predicted time\n", text)
        text = self.explain("all_reduce", "--ranks", "3", "-b", "64", "-e", "64", env={"RONDO_EXCHANGE_BYTES": "0"})
        self.assertIn("with the lowest predicted time", text)

    def test_the_order_of_operands(self):
        sizes = ["-b", "1M", "-e", "1M"]
        text = self.explain("all_reduce", "-t", "4", *sizes)
        self.assertIn("  everywhere: ((x0 + x1) + x2) + x3\nroundings of an operand to float32: at most 3\n", text)
        text = self.explain("all_reduce", "-t", "3", *sizes, "-d", "bfloat16", "-o", "avg", "--algorithm", "ring")
        self.assertIn("uses ring@connections, which was requested", text)
        self.assertIn("  part 1 of 3: r((r(x1 + x2) + x0) / 3)\n", text)
        self.assertIn("r() rounds to bfloat16", text)
        self.assertIn("roundings of an operand to bfloat16: at most 2\n", text)
        text = self.explain("scan", "-t", "64", *sizes, "-d", "half", "--algorithm", "chain")
        self.assertIn("  rank 7: r(r(r(r(r(r(r(x0 + x1) + x2) + x3) + x4) + x5) + x6) + x7)\n", text)
        self.assertIn("  and so on, 56 more\n", text)
        text = self.explain("reduce", "-t", "64", *sizes, "-d", "half", "--algorithm", "flat")
        self.assertIn("  everywhere: r(((x0 + x1) + x2) + ... + x63)\n", text)

    def test_reproducible_mode(self):
        mode = {"RONDO_REPRODUCIBLE": "1"}
        text = self.explain("scan", "-t", "3", "-b", "1M", "-e", "1M", "-d", "half", env=mode)
        self.assertIn("RONDO_REPRODUCIBLE is 1", text)
        self.assertRegex(text, r"chain +[\d.]+ us   rank order; not chosen: not reproducible\n")
        text = self.explain("all_reduce", "-t", "3", "--algorithm", "ring", env=mode, code=2)
        self.assertRegex(text, r"left out: .*RONDO_REPRODUCIBLE is 1, and all_reduce by ring was requested")
        text = self.explain("all_reduce", "-t", "3", env=mode | {"RONDO_ALGORITHM": "all_reduce=ring"}, code=3)
        self.assertIn("RONDO_REPRODUCIBLE is 1, and all_reduce by ring was requested", text)

    def test_what_it_cannot_explain(self):
        self.assertIn("send_recv has no algorithms", self.explain("send_recv", "-t", "2", code=2))
        self.assertIn("leave --varying out", self.explain("all_gather", "-t", "2", "--varying", code=2))


class SavedRules(PerfCase):
    sizes = ["--ranks", "3", "-b", "8", "-e", "4M", "-f", "8"]
    collectives = "all_reduce,all_gather,barrier,send_recv"

    def save(self, to, *arguments, **more):
        result = self.ended(*(arguments or (self.collectives, *self.sizes)), "--rules", to, **more)
        return result.stdout + result.stderr

    def rules(self, text):
        return [line for line in text.splitlines() if line and not line.startswith("#")]

    def test_what_is_saved_is_loaded_and_gives_the_same_choices(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("old")
            self.assertEqual(self.rules(self.save(path)), [])
            self.assertEqual(os.listdir(folder), ["rules.txt"])
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.assertRegex(text, r"^# Chosen by Rondo \d+\.\d+\.\d+ for 3 ranks \(shm\), \d{4}-\d\d-\d\d \d\d:")
            saved = self.rules(text)
            self.assertEqual([rule.partition("=")[0] for rule in saved], ["all_reduce", "all_gather", "barrier"])
            self.assertRegex(saved[0], r"^all_reduce=(\w+@(shm_pull|connections):\d+K?,)+\w+@connections:2M$")
            self.assertRegex(saved[2], r"^barrier=\w+@shm_pull$")
            loaded = {"RONDO_ALGORITHM": "@" + path}
            # Printed with all else that it prints, which is comments.
            printed = self.save("-", env=loaded)
            self.assertEqual(self.rules(printed), saved)
            with open(path, "w", encoding="utf-8") as file:
                file.write(printed)
            self.assertEqual(self.rules(self.save("-", env=loaded)), saved)

            explained = [self.ended("all_reduce,all_gather", *self.sizes, "--explain", env=env).stdout
                         for env in ({}, loaded)]
            chosen, requested = (re.findall(r"(?m)^uses (\S+), (.*?)(?:, in chunks.*)?$", text) for text in explained)
            self.assertEqual([choice for choice, _ in chosen], [choice for choice, _ in requested])
            self.assertEqual({why for _, why in requested}, {"which was requested"})

    def test_every_size_has_its_own_choice(self):
        rules = "all_reduce=one_shot@connections:64,auto:512,@shm_pull:8K,ring@connections"
        text = self.save("-", "all_reduce", "-t", "3", "-b", "8", "-e", "16K", "-f", "2",
                         env={"RONDO_ALGORITHM": rules})
        self.assertRegex(self.rules(text)[0],
                         r"^all_reduce=one_shot@connections:64,(\w+@shm_pull:\d+K?,)+ring@connections:16K$")

    def test_a_file_that_cannot_be_read_or_written(self):
        self.assertIn("cannot write /nowhere/x: No such file or directory", self.save("/nowhere/x", code=2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rules.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write("# rules\nall_reduce=two_shot:64K,rign\n")
            for name, said in ((path, f"{path}:2: all_reduce has no algorithm 'rign'; "),
                               ("x", "x: cannot be read: No such file or directory")):
                result = self.ended("all_reduce", "-t", "2", env={"RONDO_ALGORITHM": "@" + name}, code=2)
                self.assertIn(said, result.stderr)

    def test_what_it_does_not_save(self):
        for arguments in (["--explain"], ["--algorithm", "ring"]):
            self.assertIn("leave --explain and --algorithm out",
                          self.save("-", "all_reduce", "-t", "2", *arguments, code=2))
        for arguments in (["--ranks", "2,3"], ["-d", "int8,float"], ["-o", "sum,max"], ["-r", "all"]):
            self.assertIn("give one number of --ranks, -d, -o and -r", self.save("-", "all_reduce", *arguments, code=2))
        self.assertIn("leave --varying out", self.save("-", "all_gather", "-t", "2", "--varying", code=2))


class Spelling(PerfCase):
    def test_algorithms_by_other_spellings_of_collectives(self):
        rows = self.right("bcast,AllReduce", "-t", "2", "-b", "64K", "-e", "64K",
                          env={"RONDO_ALGORITHM": "allreduce=ring;Bcast=chain"})
        self.assertEqual([row["algorithm"] for row in rows], ["chain", "ring"])

    def test_a_slip_in_an_algorithm_finds_what_was_meant(self):
        for text, meant in (("all_reduce=rign", "ring"), ("al_reduce=ring", "all_reduce")):
            result = self.ended("all_reduce", "-t", "2", env={"RONDO_ALGORITHM": text}, code=2)
            self.assertIn(f"did you mean {meant}?", result.stderr)
        result = self.ended("all_reduce", "-t", "2", "--algorithm", "rign", code=2)
        self.assertIn("all_reduce has no algorithm 'rign'", result.stdout)
        self.assertIn("did you mean ring?", result.stdout)

    def test_an_algorithm_out_of_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
            file.write(SWAP.format("".join(SWAP_GPU.format(own=own, other=1 - own) for own in (0, 1))))
            file.flush()
            for algorithm in ("file:" + file.name, "all_gather=file:" + file.name):
                rows = self.right("all_gather", "-t", "2", "-b", "8", "-e", "1K", "--algorithm", algorithm)
                self.assertEqual({row["algorithm"] for row in rows}, {"file:" + file.name})

    def test_the_command_that_quickstart_prints(self):
        rows = self.right("all", "-t", "2", "-e", "64")
        self.assertEqual([row["bytes"] for row in rows[:4]], [8, 16, 32, 64])


if __name__ == "__main__":
    unittest.main()
