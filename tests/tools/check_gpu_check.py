#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/gpu-check without a GPU: bundles of this build and of a fake one, with and without a stand-in for the driver.

Usage: check_gpu_check.py SOURCE_ROOT BUILD_ROOT RONDO_PERF SOME_DRIVER
       check_gpu_check.py SOURCE_ROOT BUILD_ROOT RONDO_PERF STANDIN_DRIVER OnGpus
       The latter runs rondo-perf on several GPUs of the complete stand-in driver.
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

ROOT, BUILD, PERF, SOME_DRIVER = (os.path.abspath(path) for path in sys.argv[1:5])
OVER_STANDIN = sys.argv[5:] == ["OnGpus"]
del sys.argv[1:5]
GPU_CHECK = os.path.join(ROOT, "tools/gpu-check")
PARTS = ["tests", "kernels", "collectives", "gpus", "sanitizer"]

# The programs of the fake build.
TESTS = {
    "gpu-device": "echo 'skipped: needs two GPUs'; echo 'All tests passed (9 assertions in 3 test cases)'",
    "two_of_three": "echo 'test cases: 3 | 2 passed | 1 failed'; exit 1",
    "wants_more": "echo 'it needs two GPUs'; exit 77",
    "hangs": "sleep 1000 & wait",
    "crashes": "kill -SEGV $$",
    "told": 'echo "$FOLDER_OF_TEST"; [ "$1" = --fast ] && cat "$2"',
}
BENCHMARK = """for option; do case $option in --benchmark_out=*) out=${option#*=} ;; esac; done
echo '{"benchmarks": [{"name": "copy/8", "real_time": 2.5, "time_unit": "us", "iterations": 3},
 {"name": "copy/9", "error_occurred": true, "error_message": "out of memory"}]}' > "$out"
"""
PERF_ROWS = """while [ "$1" != --json ]; do case $1 in --ranks) ranks=$2 ;; esac; shift; done
wrong=0; [ "${ranks:-0}" = 4 ] && wrong=7
echo '{"results": [{"out_of_place_us": 5, "busbw": 12, "wrong": '$wrong'},
  {"out_of_place_us": 9, "busbw": 3, "wrong": 0}]}' > "$2"
[ "$wrong" = 0 ]
"""


def run(*command, **variables):
    # A machine with a GPU must look like one without.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, stdin=subprocess.DEVNULL,
                          env={name: value for name, value in environment.items() if value is not None})


def with_driver(*command, **variables):
    return run(*command, LD_LIBRARY_PATH=os.path.dirname(SOME_DRIVER), **variables)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.bundle = os.path.join(self.folder, "bundle")

    def at(self, *names):
        return os.path.join(self.folder, *names)

    def program(self, path, text):
        os.makedirs(os.path.dirname(self.at(path)), exist_ok=True)
        with open(self.at(path), "w", encoding="utf-8") as file:
            file.write("#!/bin/bash\n" + text)
        os.chmod(self.at(path), 0o755)
        return self.at(path)

    def describe(self, tests, programs):
        """Writes what meson would report about the folder build/."""
        os.mkdir(self.at("build/meson-info"))
        targets = [{"type": "executable", "filename": [path]} for path in programs]
        for name, text in (("tests", tests), ("targets", targets)):
            with open(self.at(f"build/meson-info/intro-{name}.json"), "w", encoding="utf-8") as file:
                json.dump(text, file)

    def bundle_perf(self):
        """Makes a bundle of rondo-perf alone, and returns where the program is."""
        os.mkdir(self.at("build"))
        perf = self.at("build/rondo-perf")
        os.symlink(PERF, perf)
        self.describe([{"name": "perf", "suite": ["rondo:gpu"], "timeout": 30, "env": {}, "cmd": [perf, "--help"]}],
                      [perf])
        made = run(GPU_CHECK, "bundle", self.bundle, "--build", self.at("build"))
        self.assertEqual(made.returncode, 0, made.stderr)
        return os.path.join(self.bundle, "bin/rondo-perf")


def sanitized():
    with open(os.path.join(BUILD, "meson-info/intro-buildoptions.json"), encoding="utf-8") as file:
        return any(option["name"] == "b_sanitize" and option["value"] not in ("none", []) for option in json.load(file))


class ANewBuild(Folder):
    def test_architectures_are_those_requested(self):
        shutil.copytree(os.path.join(ROOT, "tools"), self.at("tools"))
        for name in ("bin/cc", "bin/ninja", "bin/nm", "bin/pkg-config", "tools/cuda/find_nvcc"):
            self.program(name, "exit 0")
        self.program("bin/c++", "cat > /dev/null")
        self.program("bin/meson", '[ "$1" = --version ] && echo 1.0.1 || { echo "$*"; exit 1; }')
        for words, value in (([], "native"), (["--architectures", "89,90"], "89,90"), (["--architectures=all"], "all")):
            made = run(self.at("tools/gpu-check"), "bundle", self.bundle, *words, CC=None, CXX=None,
                       PATH=self.at("bin") + ":" + os.environ["PATH"])
            self.assertIn(f"-Dgpu_architectures={value}", made.stderr.split())


class ThisBuild(Folder):
    """The real programs, if this build has any for a GPU."""

    def test_a_bundle_has_all_that_it_needs(self):
        made = run(GPU_CHECK, "bundle", self.bundle, "--build", BUILD)
        with open(os.path.join(BUILD, "meson-info/intro-tests.json"), encoding="utf-8") as file:
            names = [test["name"] for test in json.load(file) if any(s.split(":")[-1] == "gpu" for s in test["suite"])]
        if not names:
            self.assertEqual(made.returncode, 1, made.stdout)
            self.assertIn("has no test that needs a GPU", made.stderr)
            return
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("gpu-collectives", names)
        with open(os.path.join(self.bundle, "check/manifest.json"), encoding="utf-8") as file:
            self.assertEqual([test["name"] for test in json.load(file)["tests"]], names)
        for name in os.listdir(os.path.join(self.bundle, "bin")):
            path = os.path.join(self.bundle, "bin", name)
            needs = run("ldd", path, LD_LIBRARY_PATH=os.path.join(self.bundle, "lib")).stdout
            self.assertNotIn("not found", needs)
            self.assertNotIn(BUILD, needs.replace(self.bundle, ""))
        self.no_gpu(run(os.path.join(self.bundle, "gpu-check"), SOME_DRIVER="none"))

    @unittest.skipIf(sanitized(), "the libraries of sanitizers fill a bundle")
    def test_a_real_program_is_stripped_and_finds_its_libraries(self):
        self.assertLess(os.path.getsize(self.bundle_perf()), os.path.getsize(PERF))
        self.assertTrue(any(name.startswith("librondo.so") for name in os.listdir(os.path.join(self.bundle, "lib"))))
        self.assertFalse(any(name.startswith("libc.") for name in os.listdir(os.path.join(self.bundle, "lib"))))
        done = with_driver(os.path.join(self.bundle, "gpu-check"), "--only", "tests", "--out", self.at("out.json"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def no_gpu(self, result):
        self.assertEqual(result.returncode, 77, result.stdout + result.stderr)
        self.assertRegex(result.stderr, r"^gpu-check: no GPU found: \w+")


@unittest.skipUnless(OVER_STANDIN, "it takes a driver that programs run over")
class OnGpus(Folder):
    """rondo-perf itself, on each GPU of a machine with several GPUs, with short vectors."""

    def test_every_command_for_several_gpus_is_right(self):
        self.bundle_perf()
        self.shorten()
        done = with_driver(os.path.join(self.bundle, "gpu-check"), "--only", "gpus", "--out", self.at("out.json"),
                           CUDA_VISIBLE_DEVICES=None, RONDO_STANDIN_DEVICES="3", RONDO_STANDIN_PROCESSORS="64",
                           RONDO_STANDIN_DIR=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.at("out.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["gpus"], 3)
        for command in report["parts"]["gpus"]["commands"]:
            for row in command["figures"]:
                self.assertEqual((row["ranks"], row["wrong"]), (3, 0), command["command"])

    def shorten(self):
        path = os.path.join(self.bundle, "check/commands.py")
        with open(path, encoding="utf-8") as file:
            text = re.sub(r"-e \d+[KM]", "-e 4K", file.read())
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("--ranks {gpus}", "--ranks {gpus} -n 2 -w 1").replace("-t {gpus}",
                                                                                         "-t {gpus} -n 2 -w 1"))


class MadeBuild(Folder):
    """Running the parts, with scripts as programs."""

    def setUp(self):
        super().setUp()
        self.program("build/some_gpu_bench", BENCHMARK)
        self.program("build/rondo-perf", PERF_ROWS)
        self.program("build/data.txt", "data")
        self.program("build/data/more.txt", "data")
        tests = [{"name": name, "suite": ["rondo:gpu"], "timeout": 1, "env": {"FOLDER_OF_TEST": "x"},
                  "cmd": [self.program(f"build/{name}", text)]} for name, text in TESTS.items()]
        tests[-1]["cmd"] += ["--fast", self.at("build/data.txt"), "data/more.txt"]
        tests.append({**tests[0], "name": "no_gpu", "suite": ["rondo:kernels"]})
        tests[0]["env"]["LD_LIBRARY_PATH"] = self.at("build")  # as meson does for programs that need its libraries
        self.describe(tests, [self.at("build", name) for name in ("some_gpu_bench", "rondo-perf", "gpu-device")])
        made = run(GPU_CHECK, "bundle", self.bundle, "--build", self.at("build"))
        self.assertEqual(made.returncode, 0, made.stderr)
        os.rename(self.at("build"), self.at("gone"))  # a bundle is self-contained
        self.check = os.path.join(self.bundle, "gpu-check")

    def report(self, *options, code, **variables):
        path = self.at("out.json")
        result = with_driver(self.check, "--out", path, *options, **variables)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file), result.stdout

    def test_a_failure_in_one_part_stops_no_other(self):
        self.program("path/compute-sanitizer", 'echo "$*"; shift 4; exec "$@"')
        start = time.monotonic()
        report, said = self.report(code=1, PATH=self.at("path") + ":" + os.environ["PATH"])
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(list(report["parts"]), PARTS)
        counts = {name: (part["passed"], part["failed"], part["skipped"]) for name, part in report["parts"].items()}
        self.assertEqual(counts["tests"], (2 + 2 + 1, 1 + 1 + 1, 1 + 1))
        self.assertEqual(counts["kernels"], (1, 1, 0))
        self.assertEqual(counts["gpus"], (0, 0, 1))
        self.assertEqual(counts["sanitizer"], (2, 0, 0))
        passed, failed, skipped = (sum(count[i] for count in counts.values()) for i in range(3))
        self.assertEqual(said.splitlines()[-1], f"{passed} passed, {failed} failed, {skipped} skipped")

        tests = {row["name"]: row for row in report["parts"]["tests"]["commands"]}
        self.assertEqual(sorted(tests), sorted(TESTS))
        self.assertIn("still running after 1 s", tests["hangs"]["why"])
        self.assertEqual(tests["crashes"]["why"], "ended by SIGSEGV")
        self.assertEqual(tests["wants_more"]["why"], "it needs two GPUs")
        self.assertEqual(tests["gpu-device"]["notes"], ["skipped: needs two GPUs"])
        self.assertEqual(tests["told"]["command"], "bin/told --fast bin/data.txt bin/more.txt")
        self.assertEqual(report["parts"]["kernels"]["commands"][0]["figures"][0],
                         {"name": "copy/8", "real_time": 2.5, "time_unit": "us"})
        for row in report["parts"]["collectives"]["commands"]:
            self.assertRegex(row["command"], r"^(\w+=1 )?bin/rondo-perf \w+ --memory cuda ")
            self.assertEqual((row["passed"], row["failed"]), (1, 1) if "--ranks 4" in row["command"] else (2, 0))
            self.assertEqual(len(row["figures"]), 2)

    def test_programs_that_measure_nothing_or_write_nonsense_have_failed(self):
        self.program("bundle/bin/rondo-perf", "exit 0")
        self.program("bundle/bin/some_gpu_bench", BENCHMARK.replace('"benchmarks"', '"others"'))
        report, _ = self.report("--only", "kernels", "--only", "collectives", code=1)
        self.assertIn("KeyError", report["parts"]["kernels"]["commands"][-1]["why"])
        for row in report["parts"]["collectives"]["commands"]:
            self.assertEqual((row["passed"], row["failed"], row["why"]), (0, 1, "it measured nothing"))

    def test_several_gpus_are_all_used_also_with_one_connection_each_16_bit_floats_and_odd_counts(self):
        self.program("bundle/bin/rondo-perf", PERF_ROWS.replace("wrong=0;", 'wrong=${CUDA_DEVICE_MAX_CONNECTIONS:-0};'))
        report, _ = self.report("--only", "gpus", code=1, SOME_DRIVER="8")
        self.assertEqual(report["gpus"], 8)
        rows = report["parts"]["gpus"]["commands"]
        for row in rows:
            self.assertRegex(row["command"], r" (--ranks|-t) 8 ")
            self.assertNotIn("--devices", row["command"])
            one_connection = row["command"].startswith("CUDA_DEVICE_MAX_CONNECTIONS=1 bin/rondo-perf ")
            self.assertEqual(row["failed"], int(one_connection), row)
        for piece in ("CUDA_DEVICE_MAX_CONNECTIONS=1 ", " -d bfloat16", " -f 7"):
            self.assertTrue(any(piece in row["command"] for row in rows), piece)

    def test_what_the_report_says_of_the_machine(self):
        report, said = self.report("--only", "sanitizer", code=0, PATH="/usr/bin:/bin")
        self.assertEqual((report["gpu"], report["cuda"]), ("Some GPU 80GB", "13.2"))
        self.assertRegex(report["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$")
        self.assertEqual(sorted(report["host"]), ["cores", "cpu", "kernel", "system"])
        self.assertEqual(sorted({"commit", "dirty", "driver"} - set(report)), [])
        self.assertEqual(list(report["parts"]), ["sanitizer"])

    def test_parts_by_themselves(self):
        for part in ("kernels", "collectives"):
            self.assertEqual(list(self.report("--only", part, code=1)[0]["parts"]), [part])
        listed = run(self.check, "--list")
        self.assertEqual((listed.returncode, [line.split()[0] for line in listed.stdout.splitlines()]), (0, PARTS))

    def test_without_a_gpu(self):
        result = with_driver(self.check, SOME_DRIVER="none")
        self.assertEqual((result.returncode, result.stderr),
                         (77, "gpu-check: no GPU found: cuInit says CUDA_ERROR_NO_DEVICE (100)\n"))

    def test_on_a_machine_that_it_is_not_for(self):
        path = os.path.join(self.bundle, "check/manifest.json")
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        for key, value, said in (("glibc", [9, 9], "need glibc 9.9"), ("machine", "vax", "are for vax")):
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**manifest, key: value}, file)
            result = with_driver(self.check)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn(said, result.stderr)

    def test_a_bundle_is_replaced_and_another_folder_is_not(self):
        again = run(GPU_CHECK, "bundle", self.bundle, "--build", self.at("gone"))
        self.assertIn("needs " + self.at("build"), again.stderr)
        result = run(GPU_CHECK, "bundle", self.folder, "--build", self.at("gone"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("neither empty nor an earlier bundle", result.stderr)

    def test_bad_options(self):
        for command, said in (((self.check, "--only", "x"), "--only is 'x'"), ((self.check, "y"), "y"),
                              ((self.check, "--out", "/nowhere/x.json"), "--out is '/nowhere/x.json'"),
                              ((GPU_CHECK, "bundle"), "bundle needs a folder"),
                              ((GPU_CHECK, "bundle", "a", "b"), "bundle takes one folder"),
                              ((GPU_CHECK, "bundle", "a", "--build"), "--build needs a folder"),
                              ((GPU_CHECK, "bundle", "a", "--architectures"), "--architectures needs a list"),
                              ((GPU_CHECK, "bundle", "a", "--architectures", "89", "--build=b"), "builds nothing"),
                              ((GPU_CHECK, "--nonsense"), "--nonsense")):
            result = with_driver(*command)
            self.assertEqual(result.returncode, 2, (command, result.stdout + result.stderr))
            self.assertIn(said, result.stderr)
        nothing = run(GPU_CHECK, "bundle", self.at("new"), "--build", self.at("path"))
        self.assertEqual(nothing.returncode, 1)
        self.assertIn("is not a Meson build folder", nothing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
