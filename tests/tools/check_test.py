# SPDX-License-Identifier: Apache-2.0
"""check_test.py SOURCE_ROOT BUILD: what tools/test and tools/check build and install, with scripts as compilers and
apt; and which tests belong to a room, in BUILD."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, BUILD = sys.argv[1:3]
sys.path.insert(0, os.path.join(ROOT, "tools/lib"))
import build_graph  # noqa: E402

PROGRAMS = {
    # Makes a build folder as far as the tools look at it, and runs tests.
    "meson": """#!/bin/sh
[ "$1" = --version ] && { echo 1.0.1; exit; }
case "$*" in *--wrapper*) log=testlog-in-time ;; *) log=testlog ;; esac
[ "$1" = test ] && { echo "meson $*" >> calls; cp ../log.json "$3"/meson-logs/$log.json; exit; }
for build; do case $build in build*) break ;; esac; done
mkdir -p $build/meson-info $build/meson-logs && touch $build/build.ninja
for file in ../intro/*; do sed "s|ROOT|$(pwd -P)|g" "$file" > $build/meson-info/"${file##*/}"; done
printf '{"directories": {"build": "%s/%s"}}' "$(pwd -P)" "$build" > $build/meson-info/meson-info.json
""",
    "ninja": '#!/bin/sh\necho "ninja $*" >> calls\n',
    "apt-get": '#!/bin/sh\necho "apt-get $*" >> calls\nexit 100\n',
    "apt-cache": "#!/bin/sh\n",  # knows every package
    "c++": "#!/bin/sh\ncat > /dev/null\n",
    "cc": "#!/bin/sh\n",
    "clang-format-14": '#!/bin/sh\nshift; echo "format $*" >> calls\n',
    "nm": "#!/bin/sh\n",
    "pkg-config": "#!/bin/sh\n",
    "id": "#!/bin/sh\necho 0\n",
}
USED = ("bash", "cat", "cp", "dirname", "env", "grep", "head", "mkdir", "mktemp", "nproc", "python3", "rm", "sed",
        "sh", "sort", "tail", "touch", "xargs")
B = "ROOT/build-test/"


def target(name, path, kind="executable", installed=False):
    return {"id": name, "name": name, "type": kind, "filename": [B + path], "installed": installed,
            "defined_in": os.path.join("ROOT", os.path.dirname(path), "meson.build"), "target_sources": []}


def test(name, suite, command, *depends):
    return {"name": name, "suite": ["rondo:" + suite], "cmd": command, "depends": list(depends)}


INTRO = {
    "buildsystem_files": ["ROOT/meson.build"],
    "install_plan": {"targets": {B + "runtime/librondo.so.0": {"tag": "runtime"}}},
    "targets": [target("rondo", "runtime/librondo.so.0", "shared library", True),
                target("start", "tests/start/test_start"), target("pairs", "tests/hosts/pairs"),
                target("run", "tools/run/rondo-run", installed=True),
                target("net", "runtime/net/libnet.a", "static library"),
                target("api", "runtime/api/libapi.a", "static library")],
    "tests": [test("start", "start", [B + "tests/start/test_start"], "start"),
              test("hosts", "hosts", ["python3", "ROOT/tests/hosts/check.py", "pairs"], "pairs", "run"),
              test("fuzz", "fuzz", ["python3", "ROOT/tests/fuzz/run.py"]),
              test("text", "style", ["python3", "ROOT/tests/style/check.py"]),
              test("install", "install", ["python3", "ROOT/tests/install/check.py", "ROOT/build-test"], "rondo", "run"),
              test("bundle", "tools", ["python3", "ROOT/tests/tools/check.py", "ROOT/build-test"], "run")],
}


class Test(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = os.path.realpath(folder.name)
        self.bin, self.tree = os.path.join(self.top, "bin"), os.path.join(self.top, "tree")
        shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(self.tree, "tools"))
        os.mkdir(self.bin)
        for name in USED:
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        for name, text in PROGRAMS.items():
            self.write(os.path.join("bin", name), text)
            os.chmod(os.path.join(self.bin, name), 0o755)
        for name, value in INTRO.items():
            self.write(f"intro/intro-{name}.json", json.dumps(value))
        self.write("log.json", '{"name": "a", "result": "OK", "stdout": ""}\n')

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_it(self, *words, program="tools/test", **variables):
        """What it did, and the calls of the scripts above."""
        self.write("tree/calls", "")
        run = subprocess.run([program, *words], cwd=self.tree, text=True, capture_output=True, timeout=60,
                             env={"PATH": self.bin, "RONDO_CUDA": "0", "RONDO_TORCH": "0", **variables},
                             stdin=subprocess.DEVNULL)
        with open(os.path.join(self.tree, "calls"), encoding="utf-8") as file:
            return run, file.read().splitlines()

    def built(self, *words):
        run, calls = self.run_it(*words)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.splitlines()[-1], "1 passed, 0 failed")
        built = [call for call in calls if call.startswith("ninja ") and not call.endswith(" build.ninja")]
        self.assertLessEqual(len(built), 1)
        return built[0].removeprefix("ninja -C build-test").split() if built else None

    def test_without_a_suite_everything_is_built(self):
        self.assertEqual(self.built(), [])

    def test_a_suite_is_built_as_far_as_its_tests_need_it(self):
        for words, targets in ((["--suite", "start"], ["tests/start/test_start"]),
                               (["--suite=hosts"], ["tests/hosts/pairs", "tools/run/rondo-run"]),
                               (["--suite", "rondo:start", "--suite", "hosts"],
                                ["tests/hosts/pairs", "tests/start/test_start", "tools/run/rondo-run"])):
            self.assertEqual(self.built(*words), targets)

    def test_a_suite_that_needs_nothing_builds_nothing(self):
        self.assertIsNone(self.built("--suite", "style"))

    def test_a_test_that_is_given_the_build_folder_needs_what_is_installed_or_else_everything(self):
        self.assertEqual(self.built("--suite", "install"), ["runtime/librondo.so.0", "tools/run/rondo-run"])
        self.assertEqual(self.built("--suite", "tools"), ["all"])

    def test_with_sanitizers_nothing_is_built_for_suites_that_are_omitted(self):
        self.write("intro/intro-tests.json", json.dumps(INTRO["tests"][:3] + [
            test("forest", "topology", [B + "tests/topology/forest"], "api")]))
        others = ["tests/hosts/pairs", "tests/start/test_start", "tools/run/rondo-run"]
        for sanitizer, targets in (("thread", others), ("address", ["runtime/api/libapi.a", *others])):
            _, calls = self.run_it("--sanitize", sanitizer)
            built = [f"../build-test/{path}" for path in targets]  # as the data above has it
            self.assertIn(f"ninja -C build-test-{sanitizer} " + " ".join(built), calls)

    def test_what_only_suites_need_that_are_left_out_is_not_built(self):
        self.write("intro/intro-tests.json", json.dumps(INTRO["tests"][:4]))
        _, calls = self.run_it("--no-suite", "hosts", "--no-suite=fuzz")
        self.assertIn("ninja -C build-test tests/start/test_start", calls)
        tested = [call for call in calls if call.startswith("meson test")]
        self.assertEqual(len(tested), 1)
        self.assertTrue(tested[0].endswith(" --no-suite hosts --no-suite fuzz"), tested)

    def test_tests_that_would_begin_too_late_are_skipped(self):
        self.write("log.json", '{"name": "a", "result": "SKIP", "stdout": ""}\n')
        run, calls = self.run_it(RONDO_TEST_UNTIL="100")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.splitlines()[-1], "0 passed, 0 failed, 1 skipped")
        wrapper = os.path.join(os.path.realpath(self.tree), "tools/lib/in-time")
        self.assertIn(f"--wrapper '{wrapper}'", calls[-1])
        for until, code, text in (("100", 77, "skipped: the time for all tests is over (RONDO_TEST_UNTIL)\n"),
                                  ("99999999999", 3, "")):
            test = subprocess.run([wrapper, "sh", "-c", "exit 3"], env={**os.environ, "RONDO_TEST_UNTIL": until},
                                  capture_output=True, text=True, check=False)
            self.assertEqual((test.returncode, test.stdout, test.stderr), (code, text, ""))
        run, _ = self.run_it(RONDO_TEST_UNTIL="soon")
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("RONDO_TEST_UNTIL is 'soon'", run.stderr)

    def test_a_suite_that_is_none_is_refused_and_the_others_are_named(self):
        for option in ("--suite", "--no-suite"):
            run, calls = self.run_it(option, "strat")
            self.assertEqual(run.returncode, 2)
            self.assertIn("there is no suite 'strat': the suites are fuzz, hosts, install, start, style, tools",
                          run.stderr)
            self.assertFalse([call for call in calls if call.startswith("meson test")])

    def test_suites_to_run_and_suites_to_leave_out_exclude_each_other(self):
        run, calls = self.run_it("--suite", "start", "--no-suite", "hosts")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--suite and --no-suite exclude each other", run.stderr)
        self.assertEqual(calls, [])

    def test_sanitizers_omit_what_they_cannot_check_unless_it_is_requested_by_name(self):
        for words, omitted, run_too in ((["--sanitize", "address"], {"style", "fuzz"}, {"schedule", "topology"}),
                                        (["--sanitize=thread"], {"style", "fuzz", "schedule", "topology"}, {"start"}),
                                        (["--sanitize=thread", "--suite", "start"], set(), {"schedule"})):
            with self.subTest(words):
                run, calls = self.run_it(*words)
                self.assertEqual(run.returncode, 0, run.stderr)
                tested = next(call for call in calls if call.startswith("meson test")).split()
                found = {suite for option, suite in zip(tested, tested[1:]) if option == "--no-suite"}
                self.assertLessEqual(omitted, found)
                self.assertFalse(run_too & found)

    def test_packages_that_only_some_suites_need_are_requested_only_with_them_and_are_optional(self):
        for words, wanted in ((["--suite", "start"], set()), (["--suite", "style"], {"shellcheck"}),
                              (["--suite", "fuzz"], {"clang-14"}), (["--suite", "install"], {"cmake"}),
                              ([], {"shellcheck", "clang-14", "cmake"})):
            with self.subTest(words):
                run, calls = self.run_it(*words)
                self.assertEqual(run.returncode, 0, run.stderr)
                requested = {package for call in calls if "install" in call for package in call.split()}
                self.assertEqual(requested & {"shellcheck", "clang-14", "cmake"}, wanted, calls)

    @unittest.skipIf(shutil.which("git") is None, "there is no git")
    def test_a_room_is_formatted_built_and_tested(self):
        os.symlink(shutil.which("git"), os.path.join(self.bin, "git"))
        for path in ("runtime/net/a.cc", "runtime/net/include/net/a.h", "runtime/api/a.cc", "runtime/net/meson.build"):
            self.write(f"tree/{path}", "")
        self.write("tree/tests/start/a_test.cc", '#include "net/a.h"\n')
        with open(os.path.join(self.top, "intro/intro-targets.json"), encoding="utf-8") as file:
            targets = json.load(file)
        targets[1]["target_sources"] = [{"sources": ["ROOT/tests/start/a_test.cc"]}]
        self.write("intro/intro-targets.json", json.dumps(targets))
        subprocess.run(["git", "init", "-q", self.tree], check=True)
        subprocess.run(["git", "add", "."], cwd=self.tree, check=True)
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "all"], cwd=self.tree,
                       check=True)
        self.built("--suite", "style")
        run, calls = self.run_it("runtime/net", program="tools/check")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(calls, ["ninja -C build-test build.ninja",
                                 "format runtime/net/a.cc runtime/net/include/net/a.h",
                                 "ninja -C build-test tests/start/test_start",
                                 "meson test -C build-test --no-rebuild start"])
        run, calls = self.run_it("runtime/nett", program="tools/check")
        self.assertEqual(run.returncode, 2)
        self.assertIn("there is no room 'runtime/nett', did you mean runtime/net?", run.stderr)
        self.assertEqual(calls, ["ninja -C build-test build.ninja"])


class Rooms(unittest.TestCase):
    """In the build folder that this test belongs to."""

    def setUp(self):
        self.build = build_graph.Build(BUILD)
        self.names = {test["name"] for test in self.build.tests}
        self.standin = any("standin" in self.build.suites_of(test) for test in self.build.tests)

    def names_in(self, *rooms):
        return [test["name"] for test in self.build.tests_of_rooms(rooms)]

    def test_every_room_has_tests(self):
        rooms = self.build.rooms()
        self.assertIn("runtime/net", rooms)
        for room in rooms:
            chosen = build_graph.CHOSEN.get(room)
            if chosen != () and (self.standin or chosen is None or not all(map(self.over_the_standin, chosen))):
                self.assertTrue(self.names_in(room), room)

    def over_the_standin(self, name):
        return name.startswith("standin-")

    def test_the_table_names_rooms_and_tests_that_there_are(self):
        self.assertLessEqual(set(build_graph.CHOSEN) - {"runtime/bindings/torch", "bench/kernels"},
                             set(self.build.rooms()))
        for names in build_graph.CHOSEN.values():
            for name in names:
                if not self.over_the_standin(name):
                    self.assertIn(name, self.names)

    def test_tests_belong_by_their_suite_and_by_what_they_include(self):
        self.assertIn("topology", self.names_in("topology"))
        self.assertLessEqual({"topology-hwloc_xml", "topology-nccl_xml", "topology-nvidia_smi"},
                             set(self.names_in("topology/formats")))
        self.assertEqual(self.names_in("runtime/net"),
                         ["runtime-ras", "start", "start-job_inquiry", "start-text_server"])
        self.assertEqual(self.names_in("runtime/plan/"),
                         ["runtime-gpu_choice", "runtime-nic_shares", "runtime-paper_job", "runtime-plan_cache",
                          "runtime-rules", "runtime-saved_costs", "runtime-selection", "runtime-time_parts", "start"])
        self.assertEqual(self.names_in("tools"),
                         self.names_in("tools/calibrate", "tools/common", "tools/doctor", "tools/explain",
                                       "tools/flight", "tools/manual", "tools/nccl_path", "tools/plan", "tools/ps",
                                       "tools/run", "tools/topo", "tools/trace"))


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed, {skipped} skipped", flush=True)
    sys.exit(1 if wrong else 0)
