# SPDX-License-Identifier: Apache-2.0
"""check_quickstart.py SOURCE_ROOT: tools/quickstart, with scripts as compilers and apt."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
PROGRAMS = {
    # Makes a build folder as far as tools/lib/packages.sh inspects it.
    "meson": """#!/bin/sh
[ "$1" = --version ] && { echo 1.0.1; exit; }
echo "meson $*" >> calls
mkdir -p build/meson-info && touch build/build.ninja
printf '{"directories": {"build": "%s/build"}}' "$(pwd -P)" > build/meson-info/meson-info.json
""",
    "ninja": """#!/bin/sh
echo "ninja $*" >> calls
mkdir -p build/bench/perf
printf '#!/bin/sh\\necho the table' > build/bench/perf/rondo-perf
chmod +x build/bench/perf/rondo-perf
""",
    "nvcc": "#!/bin/sh\necho nvcc >> calls\n",
    "c++": "#!/bin/sh\ncat > /dev/null\n",
    "cc": "#!/bin/sh\n",
    "pkg-config": "#!/bin/sh\n",
    "id": "#!/bin/sh\necho 0\n",
}
LISTS = "W: Failed to fetch http://mirror.example/dists/x/InRelease  {reason}\n"
ARCHIVE = "E: Failed to fetch http://mirror.example/pool/n.deb  {reason}\n"
SLOW = "Connection timed out [IP: 192.0.2.1 80]"  # after it was established
REASONS = (("Temporary failure resolving 'mirror.example'", "resolving 'mirror.example'"),
           ("Could not connect to mirror.example:80 (192.0.2.1), connection timed out", "connect to mirror.example"),
           ("Cannot initiate the connection to mirror.example:80 (2001:db8::1).", "connection to mirror.example"))
# Without lists `apt-get -s install` fails, also after an update that fetched none.
APT = """#!/bin/sh
echo "apt-get $*" >> calls
case "$*" in
  *' -s '*) exit {simulated} ;;
  *' update') echo "{lists}"; exit 0 ;;
esac
echo "{archive}" >&2
exit 100
"""
# The host does not answer within the timeout.
SLOW_APT = """#!/bin/sh
echo "apt-get $*" >> calls
case "$*" in
  *' -s '*) test -e lists; exit ;;
  *http::Timeout=*' update') echo "{lists}"; exit 100 ;;
  *' update') touch lists; exit 0 ;;
  *' download '*) echo "{archive}" >&2; exit 100 ;;
esac
mv ninja-package "$(dirname "$0")/ninja"
"""


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = os.path.join(folder.name, "bin")
        self.tree = os.path.join(folder.name, "tree")
        shutil.copytree(os.path.join(ROOT, "tools"), os.path.join(self.tree, "tools"))
        os.mkdir(self.bin)
        for name in ("bash", "cat", "chmod", "dirname", "env", "grep", "head", "mkdir", "mktemp", "mv", "python3", "rm",
                     "sed", "sh", "sort", "tail", "touch"):
            os.symlink(shutil.which(name), os.path.join(self.bin, name))
        for name, text in PROGRAMS.items():
            self.program(name, text)

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_it(self, **variables):
        """The outcome, and the calls of the scripts above."""
        calls = os.path.join(self.tree, "calls")
        open(calls, "w", encoding="utf-8").close()
        run = subprocess.run(["tools/quickstart"], cwd=self.tree, env={"PATH": self.bin, **variables}, text=True,
                             capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        with open(calls, encoding="utf-8") as file:
            return run, file.read().splitlines()

    def succeed(self, **variables):
        run, calls = self.run_it(**variables)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("the table\n", run.stdout)
        return calls

    @unittest.skipIf(os.path.exists("/dev/nvidiactl") or os.path.exists("/dev/dxg"), "there is a GPU")
    def test_without_a_gpu_cuda_is_left_out_where_nvcc_is_too(self):
        setup, _ = self.succeed()
        self.assertIn(" -Dcuda=disabled", setup)

    def test_only_what_the_table_and_its_next_steps_need_is_built(self):
        _, build = self.succeed(RONDO_CUDA="0")
        self.assertEqual(build, "ninja -C build bench/perf/rondo-perf tools/run/rondo-run examples/jacobi")

    def test_a_tree_that_was_moved_is_set_up_anew_and_one_that_stays_is_not(self):
        self.assertEqual(len(self.succeed(RONDO_CUDA="0")), 2)
        self.assertEqual(len(self.succeed(RONDO_CUDA="0")), 1)
        left = os.path.join(self.tree, "build", "left")
        open(left, "w", encoding="utf-8").close()
        os.rename(self.tree, self.tree + " moved")
        self.tree += " moved"
        self.assertTrue(self.succeed(RONDO_CUDA="0")[0].startswith("meson setup build "))
        self.assertFalse(os.path.exists(os.path.join(self.tree, "build", "left")))

    def test_a_nonsensical_cuda_switch_is_refused(self):
        run, _ = self.run_it(RONDO_CUDA="maybe")
        self.assertEqual(run.returncode, 2)
        self.assertIn("RONDO_CUDA is 'maybe'", run.stderr)

    def test_without_a_network_the_host_and_the_packages_are_named(self):
        os.unlink(os.path.join(self.bin, "nvcc"))
        os.unlink(os.path.join(self.bin, "ninja"))
        for reason, named in REASONS:
            for simulated in (0, 100):
                with self.subTest(reason=reason, simulated=simulated):
                    self.program("apt-get", APT.format(simulated=simulated, lists=LISTS.format(reason=reason).strip(),
                                                       archive=ARCHIVE.format(reason=reason).strip()))
                    run, calls = self.run_it()
                    self.assertEqual(run.returncode, 1)
                    said, _, why = run.stderr.partition("apt-get has no network")
                    self.assertIn(f"{named}", why)
                    self.assertIn("Failed to fetch", said)
                    self.assertIn("Needed: ninja-build", run.stderr)
                    self.assertEqual(sum(" update" in call for call in calls), 1 if simulated else 0)
                    for call in calls:
                        self.assertTrue(" -s " in call or "Acquire::http::Timeout=" in call, call)

    def test_a_network_that_is_slow_is_not_none(self):
        for lists in (False, True):  # whether they exist already
            with self.subTest(lists=lists):
                os.rename(os.path.join(self.bin, "ninja"), os.path.join(self.tree, "ninja-package"))
                if lists:
                    open(os.path.join(self.tree, "lists"), "w", encoding="utf-8").close()
                self.program("apt-get", SLOW_APT.format(lists=LISTS.format(reason=SLOW).strip(),
                                                        archive=ARCHIVE.format(reason=SLOW).strip()))
                self.succeed(RONDO_CUDA="0")

    def test_progress_is_a_line_each_interval_and_what_compilers_say(self):
        says = "echo 'ninja: Entering x'; echo '1 of 9: a'; echo 'b: warning'; read -r -t 20 last; echo \"$last\""
        script = ". tools/lib/packages.sh; { " + says + "; } | show_progress 1"
        with subprocess.Popen(["bash", "-c", script], cwd=self.tree, env={"PATH": self.bin}, text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            self.assertEqual(run.stdout.readline(), "b: warning\n")
            self.assertEqual(run.stdout.readline(), "  1 of 9 done\n")
            last, _ = run.communicate("last: error\n")
        self.assertIn("last: error\n", last)
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong - len(result.skipped)} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
