#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/selector as a program: on Rondo, and on stand-ins whose choices, plans and times are known.

usage: check_selector.py SOURCE_ROOT RONDO_PERF RONDO_PLAN FIT_COSTS
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
PERF, PLAN, FIT = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PROGRAM = os.path.join(ROOT, "bench/selector/selector_check.py")

# Predicts 2 us and chooses slow, which takes FACTOR times as long as fast.
FAKE = """#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
if words[0] == "diff":
    print("no difference" if "all_reduce=copy" in words else "other messages")
    sys.exit()
option = lambda name: words[words.index(name) + 1]
if "--probe" in words:
    print("50.0 ns one way")
    sys.exit()
sizes = [size for size in (8, 32, 128) if int(option("-b")) <= size <= int(option("-e"))]
if "--explain" in words:
    for size in sizes:
        print(f"all_reduce(count={size // 4}, float32, sum) of 2 ranks, {size} bytes, in host memory")
        print("uses slow@connections, with the lowest predicted time, in chunks of up to 64 bytes")
        print("predicted over shm_pull (in memory):\\n  slow   - us   not chosen: it is not made of rounds")
        print("predicted over connections (1 us per message):\\n  copy   2.00 us\\n  slow   2.00 us   own order")
        print("  fast   3.00 us")
    sys.exit()
name = os.environ["RONDO_ALGORITHM"] or "all_reduce=slow@connections"
time = {"all_reduce=slow@connections": FACTOR * 2.0, "all_reduce=fast@connections": 2.0}[name]
with open(option("--json"), "w") as file:
    json.dump({"results": [{"bytes": size, "out_of_place_us": time} for size in sizes]}, file)
"""


def check(perf, *words):
    plan = PLAN if perf == PERF else perf
    return subprocess.run([sys.executable, PROGRAM, "--perf", perf, "--plan", plan, "--collectives", "all_reduce",
                           "--ranks", "2", *words], capture_output=True, text=True, timeout=100, check=False)


def fit(*words):
    return subprocess.run([FIT, *words], capture_output=True, text=True, timeout=100, check=False)


class Selector(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fake(self, text):
        path = os.path.join(self.folder, "perf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def measured(self, path, *words):
        ended = check(PERF, *words, "--rounds", "1", "--minutes", "1", "--json", path)
        if "never kept one state" in ended.stderr and "ended with" not in ended.stderr:
            self.skipTest("this machine is too busy")
        self.assertIn(ended.returncode, (0, 1), ended.stdout + ended.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_choices_within_a_tenth_of_the_best_are_good(self):
        ended = check(self.fake(FAKE.replace("FACTOR", "1.09")), "--last", "128", "--rounds", "2")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("| all_reduce | 2 | 3 of 3 | 8% | 0% | 1.09 |", ended.stdout)
        self.assertIn("100% of 3 choices are good; predictions are off by 8% in the median", ended.stdout)

    def test_poor_choices_are_named(self):
        ended = check(self.fake(FAKE.replace("FACTOR", "1.5")), "--last", "128", "--rounds", "2", "--worst", "1")
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertIn("all_reduce, 2 ranks, 8 B: slow@connections takes 3.0 us (predicted 2.0), fast@connections takes "
                      "2.0 us (predicted 3.0); spread 0%", ended.stdout)
        self.assertEqual(ended.stdout.count("slow@connections takes"), 1)
        self.assertIn("0% of 3 choices are good; predictions are off by 33%", ended.stdout)

    def test_what_cannot_be_measured_is_an_error(self):
        for text in ("#!/bin/sh\necho no choice; exit 3\n", FAKE.replace("uses slow", "has slow")):
            ended = check(self.fake(text), "--last", "128", "--rounds", "1")
            self.assertEqual(ended.returncode, 2, ended.stdout)
            self.assertIn("nothing could be measured", ended.stderr)

    def test_of_rondo_every_candidate_has_times(self):
        path = os.path.join(self.folder, "cells.json")
        cells = self.measured(path, "--last", "128K", "--factor", "128")["cells"]
        self.assertEqual([cell["bytes"] for cell in cells], [8, 1024, 131072])
        for cell in cells:
            self.assertIn(cell["chosen"], cell["predicted_us"])
            self.assertEqual(set(cell["times_us"]), {"", *cell["predicted_us"]}, cell)
        self.assertIn("one_shot@shm_pull", cells[0]["predicted_us"])
        self.assertNotIn("one_shot@shm_pull", cells[-1]["predicted_us"])

    def test_costs_are_fitted_to_times(self):
        path = os.path.join(self.folder, "cells.json")
        contents = self.measured(path, "--last", "1M", "--factor", "16")
        for cell in contents["cells"]:
            cell["times_us"] = {name: [2 * us] for name, us in cell["predicted_us"].items()}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(contents, file)
        ended = fit(path)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        table, fitted = re.findall(r"(?m)^by [\w-]+ costs predictions are off by (\d+)% in the median", ended.stdout)
        self.assertEqual(table, "50")
        self.assertLessEqual(int(fitted), 5, ended.stdout)
        self.assertRegex(ended.stdout, r"(?m)^pull.latency_us +\d")

    def test_what_is_no_file_of_cells_is_refused(self):
        path = os.path.join(self.folder, "cells.json")
        good = {"collective": "all_reduce", "ranks": 2, "bytes": 8, "times_us": {"ring@connections": [1.0]}}

        def refusal(contents):
            with open(path, "w", encoding="utf-8") as file:
                file.write(contents)
            ended = fit(path)
            self.assertEqual(ended.returncode, 1, contents)
            return ended.stderr

        for contents, words in (("", "parse error"), ("{}", "about"), ("[1]", "array"),
                                ('{"about": {"cpus": 0}, "cells": []}', "0 CPUs"),
                                ('{"about": {"cpus": 2}, "cells": []}', "has no cells")):
            self.assertIn(words, refusal(contents))
        for bad, words in (({"collective": "reduce_all"}, "reduce_all"), ({"ranks": 0}, "ranks"),
                           ({"bytes": "x"}, "must be number"), ({"times_us": {"rong@connections": [1]}}, "rong"),
                           ({"times_us": {"ring@connections": []}}, "no times"),
                           ({"times_us": {"ring@connections": [0]}}, "not above 0")):
            about = {"cpus": 2, "transport": "shm"}
            self.assertIn(words, refusal(json.dumps({"about": about, "cells": [{**good, **bad}]})))
        self.assertIn("cannot be read", fit("/nowhere.json").stderr)
        self.assertEqual(fit().returncode, 2)

    def test_wrong_options_are_refused(self):
        for words in (["--factor", "1"], ["--rounds", "0"], ["--collectives", "barrier"], ["--ranks", "1"],
                      ["--perf", "/nowhere"], ["--share", "x"]):
            self.assertEqual(check(PERF, *words).returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
