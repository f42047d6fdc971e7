# SPDX-License-Identifier: Apache-2.0
"""check_tidy.py SOURCE_ROOT: tools/lib/tidy.py, on a small tree with mistakes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tools/lib"))
import tidy  # noqa: E402

MISTAKE = "inline unsigned long use(Text a) {\n  Text b = std::move(a);\n  return a.size() + b.size();\n}\n"
TREE = {
    "runtime/net/include/net/a.h": "#pragma once\n#include <string>\n#include <utility>\nusing Text = std::string;\n",
    "runtime/net/a.cc": '#include "net/a.h"\nint first() { return 1; }\n',
    "runtime/net/b.cc": '#include "net/a.h"\nint second() { return 2; }\n',
    "kernels/alone.cc": "int alone() { return 3; }\n",
    "tests/a_test.cc": "int main() {}\n",
    "build/runtime/net/libnet.a.p/net-unity0.cpp":
        "#include<{root}/build/../runtime/net/a.cc>\n#include<{root}/build/../runtime/net/b.cc>\n",
}
UNITS = (("runtime/net/libnet.a.p/net-unity0.cpp", "runtime/net/libnet.a.p/net-unity0.cpp.o"),
         ("../kernels/alone.cc", "kernels/libkernels.a.p/alone.cc.o"), ("../tests/a_test.cc", "tests/a.p/a_test.cc.o"))


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for path, text in TREE.items():
            self.write(path, text.replace("{root}", self.root))
        for path in (".clang-tidy", "tools/lib/tidy.py"):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                self.write(path, file.read())
        command = "c++ -I../runtime/net/include -std=c++20 -Wall -fpch-preprocess -include pch.h -MD -o {0} -c {1}"
        self.write("build/compile_commands.json", json.dumps(
            [{"directory": os.path.join(self.root, "build"), "file": file, "output": output,
              "command": command.format(output, file)} for file, output in UNITS]))

    def write(self, path, text):
        os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
        with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
            file.write(text)

    def run_it(self, *files):
        if tidy.program() is None:
            self.skipTest(f"clang-tidy {tidy.MAJOR} is not installed")
        return subprocess.run([sys.executable, "tools/lib/tidy.py", "build", *files], cwd=self.root, text=True,
                              capture_output=True, timeout=60)

    def test_units_are_the_products_and_know_their_sources(self):
        known = tidy.units(os.path.join(self.root, "build"))
        self.assertEqual([[os.path.relpath(source, self.root) for source in unit.sources] for unit in known],
                         [["runtime/net/a.cc", "runtime/net/b.cc"], ["kernels/alone.cc"]])
        self.assertEqual(known[0].flags, ["-I../runtime/net/include", "-std=c++20", "-Wall"])

    def test_a_header_is_looked_at_through_what_includes_it(self):
        known = tidy.units(os.path.join(self.root, "build"))
        for path, source in (("runtime/net/b.cc", "runtime/net/b.cc"),
                             ("runtime/net/include/net/a.h", "runtime/net/a.cc"),
                             ("runtime/net/include/net/b.h", None), ("tests/a_test.cc", None)):
            found = tidy.source_for(os.path.join(self.root, path), known)
            self.assertEqual(found and os.path.relpath(found[0], self.root), source, path)

    def test_a_sound_tree_passes(self):
        run = self.run_it()
        self.assertEqual((run.returncode, run.stdout), (0, "clang-tidy: 2 units, 0 findings\n"), run.stderr)

    def test_a_mistake_is_named_once(self):
        self.write("runtime/net/include/net/a.h", TREE["runtime/net/include/net/a.h"] + MISTAKE)
        for files in ((), ("runtime/net/include/net/a.h",), ("runtime/net/a.cc", "runtime/net/b.cc")):
            run = self.run_it(*files)
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            self.assertEqual(run.stdout.count("bugprone-use-after-move"), 1, run.stdout)
            self.assertTrue(run.stdout.startswith("runtime/net/include/net/a.h:7:10: "), run.stdout)

    def test_a_mistake_in_one_file_is_found_there_and_not_in_another(self):
        self.write("runtime/net/b.cc", TREE["runtime/net/b.cc"] + MISTAKE)
        self.assertEqual(self.run_it("runtime/net/a.cc").returncode, 0)
        for files in ((), ("runtime/net/b.cc",)):
            run = self.run_it(*files)
            self.assertEqual(run.returncode, 1)
            self.assertTrue(run.stdout.startswith("runtime/net/b.cc:5:10: "), run.stdout)

    @unittest.skipIf(shutil.which("git") is None, "there is no git")
    def test_only_units_of_files_that_differ_from_a_commit_are_looked_at(self):
        someone = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        for command in (["init", "-q"], ["add", "."], [*someone, "commit", "-qm", "all"]):
            subprocess.run(["git", *command], cwd=self.root, check=True)
        run = self.run_it("--changed-since", "HEAD")
        self.assertEqual((run.returncode, run.stdout), (0, "clang-tidy: 0 units, 0 findings\n"), run.stderr)
        self.write("runtime/net/include/net/a.h", TREE["runtime/net/include/net/a.h"] + MISTAKE)
        run = self.run_it("--changed-since", "HEAD")
        self.assertEqual(run.returncode, 1)
        self.assertTrue(run.stdout.startswith("runtime/net/include/net/a.h:7:10: "), run.stdout)
        self.assertIn("clang-tidy: 1 units, 1 findings", run.stdout)

    def test_what_does_not_compile_fails(self):
        self.write("kernels/alone.cc", "int alone() { return what; }\n")
        run = self.run_it()
        self.assertEqual(run.returncode, 1)
        self.assertIn("kernels/alone.cc:1:22: error: use of undeclared identifier 'what'", run.stdout)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed, {skipped} skipped", flush=True)
    sys.exit(1 if wrong else 0)
