# SPDX-License-Identifier: Apache-2.0
"""check_words.py LIBRARY PROGRAM RONDO-NCCL-PATH: how libnccl.so.2 identifies itself, and how it is found."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, PROGRAM, PATH = sys.argv[1:]
BANNER = re.compile(r"^Rondo \d+\.\d+\.\d+ as libnccl\.so\.2 \(NCCL (\S+) ABI\) (\S+)$", re.M)


def run(*command, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NCCL_", "RONDO_"))}
    return subprocess.run(command, text=True, capture_output=True, timeout=60, env={**kept, **variables})


class Words(unittest.TestCase):
    def outputs(self, **variables):
        ran = run(PROGRAM, **variables)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout, ran.stderr

    def test_without_being_asked_it_says_nothing(self):
        self.assertEqual(self.outputs(), ("version 22907\n", ""))

    def test_the_banner_names_the_file_and_the_version_once(self):
        out, err = self.outputs(NCCL_DEBUG="VERSION", RONDO_NCCL_VERSION="23007")
        self.assertEqual(BANNER.findall(out), [("2.30.7", os.path.realpath(LIBRARY))])
        self.assertIn("version 23007\n", out)
        self.assertEqual(err, "")

    def test_the_banner_at_load_goes_to_standard_error(self):
        out, err = self.outputs(RONDO_NCCL_BANNER="1")
        self.assertEqual(len(BANNER.findall(err)), 1)
        self.assertEqual(out, "version 22907\n")
        self.assertEqual(self.outputs(RONDO_NCCL_BANNER="No"), ("version 22907\n", ""))

    def test_failures_are_logged_from_warn_on(self):
        self.assertNotIn("version is NULL", self.outputs(NCCL_DEBUG="VERSION")[0])
        self.assertIn("WARN ncclGetVersion: version is NULL", self.outputs(NCCL_DEBUG="warn")[0])

    def test_a_file_takes_all_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            out, err = self.outputs(NCCL_DEBUG="WARN", NCCL_P2P_DISABLE="1", NCCL_DEBUG_FILE=folder + "/%h.%p.%%")
            self.assertEqual((out, err), ("version 22907\n", ""))
            [name] = os.listdir(folder)
            self.assertRegex(name, r"^.+\.\d+\.%$")
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read()
        for words in ("version is NULL", "NCCL_P2P_DISABLE has no effect", "as libnccl.so.2"):
            self.assertIn(words, text)

    def test_variables_without_effect_are_named_once(self):
        out, err = self.outputs(NCCL_P2P_DISABLE="1", NCCL_FROM_NOWHERE="1", NCCL_ALGO="Ring")
        self.assertEqual(err.count("NCCL_P2P_DISABLE"), 1)
        self.assertIn("NCCL_FROM_NOWHERE has no effect: Rondo does not know it", err)
        self.assertNotIn("NCCL_ALGO", err)
        self.assertEqual(out, "version 22907\n")
        for level in ("error", "OFF"):
            self.assertEqual(self.outputs(NCCL_P2P_DISABLE="1", RONDO_LOG=level)[1], "")

    def test_the_path_of_the_build(self):
        found = run(PATH)
        self.assertEqual((found.returncode, found.stdout), (0, os.path.realpath(LIBRARY) + "\n"))

    def test_the_path_of_a_folder_with_programs_and_libraries(self):
        for place in ("lib/rondo", "lib"):
            with tempfile.TemporaryDirectory() as folder:
                folder = os.path.realpath(folder)
                os.makedirs(os.path.join(folder, "bin"))
                os.makedirs(os.path.join(folder, place))
                program = shutil.copy(PATH, os.path.join(folder, "bin"))
                ran = run(program)
                self.assertEqual(ran.returncode, 1)
                self.assertIn("there is no libnccl.so.2", ran.stderr)
                library = os.path.join(folder, place, "libnccl.so.2")
                open(library, "w", encoding="utf-8").close()
                self.assertEqual(run(program).stdout, library + "\n")

    def test_its_usage(self):
        self.assertIn("LD_PRELOAD", run(PATH, "--help").stdout)
        self.assertEqual(run(PATH, "nonsense").returncode, 2)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
