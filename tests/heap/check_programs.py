#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with librondo-heap.so: their memory is what malloc() promises, forks included, and they do what they do
without it.

Usage: check_programs.py LIBRONDO_HEAP PROGRAM FIXED
"""
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

HEAP, PROGRAM, FIXED = map(os.path.abspath, sys.argv[1:4])
del sys.argv[1:4]
CASES = ("stress", "handed_over", "resizing", "moving", "aligned", "refused", "returned", "untouched", "discarded",
         "forks", "forks_amid_threads", "writes_amid_forks", "memory_after_forks", "memory_amid_children", "dumped",
         "page_settings", "stacks", "handlers", "closes_all")
USED = re.compile(r"rondo-heap info\] ([1-9]\d*) large blocks, at most (\d+) MiB at a time; (\d+) forks")


def run(*command, heap=True, **options):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RONDO_")}
    environment["RONDO_LOG"] = "info"
    if heap:
        environment["LD_PRELOAD"] = HEAP
    environment.update(options.pop("env", {}))
    return subprocess.run(command, capture_output=True, text=True, timeout=200, env=environment, **options)


class Promises(unittest.TestCase):
    def test_all_of_malloc(self):
        for case in CASES:
            with self.subTest(case):
                result = run(PROGRAM, case)
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
                self.assertRegex(result.stderr, USED, "the heap served it")

    def test_the_same_without_large_blocks(self):
        for case in ("stress", "forks"):
            result = run(PROGRAM, case, env={"RONDO_HEAP_FROM": "1G"})
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_program_at_a_fixed_address(self):
        self.assertRegex(run(FIXED).stderr, USED)

    def test_blocks_from_64_KiB_on(self):
        few, many = (int(USED.search(run(PROGRAM, "stress", env={"RONDO_HEAP_FROM": size}).stderr)[1])
                     for size in ("256K", "64k"))
        self.assertGreater(many, few)

    def test_executed_programs_have_it_too(self):
        result = run(PROGRAM, "execs", "1", "2", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(USED.findall(result.stderr)), 3 + 1, result.stderr)

    def test_descriptors_have_the_numbers_that_they_would_have(self):
        self.assertEqual(run(PROGRAM, "descriptors").stdout, run(PROGRAM, "descriptors", heap=False).stdout)

    def test_what_is_no_block_ends_the_program(self):
        for case in ("double_free", "free_inside"):
            result = run(PROGRAM, case)
            self.assertEqual(result.returncode, -signal.SIGABRT)
            self.assertIn("free() or realloc() of what is no block of malloc()", result.stderr)
        self.assertEqual(run(PROGRAM, "abort_handler").returncode, 0)


class Fallbacks(unittest.TestCase):
    """The usual malloc() serves where the heap cannot."""

    def expect_usual(self, why, case="stress", **options):
        result = run(PROGRAM, case, **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1 if why else 0, result.stderr)
        self.assertIn(why, result.stderr)
        self.assertNotRegex(result.stderr, USED)

    def test_limited_memory(self):
        limit = (16 << 30, 16 << 30)
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            self.expect_usual("address space or data is limited",
                              preexec_fn=lambda kind=kind: resource.setrlimit(kind, limit))

    def test_limited_files(self):
        limit = (1 << 20, 1 << 20)
        self.expect_usual("no files in memory",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))

    def test_few_descriptors(self):
        self.expect_usual("no files in memory",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4)), case="resizing")

    def test_bad_threshold(self):
        for text in ("many", "1K", "256X", "-1"):
            result = run(PROGRAM, "resizing", env={"RONDO_HEAP_FROM": text})
            self.assertEqual(result.returncode, 0)
            self.assertIn(f"RONDO_HEAP_FROM is '{text}': it must be a number of bytes from 64K on", result.stderr)
            self.assertRegex(result.stderr, USED)

    def test_quiet_log(self):
        self.assertEqual(run(PROGRAM, "resizing", env={"RONDO_LOG": "off", "RONDO_HEAP_FROM": "x"}).stderr, "")
        self.assertEqual(run(PROGRAM, "resizing", env={"RONDO_LOG": ""}).stderr, "")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_programs_with_other_rights_ignore_it(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = os.path.join(folder, "program")
            shutil.copy(PROGRAM, copy)
            os.chmod(copy, 0o755 | stat.S_ISUID)

            def become_nobody():
                os.setgid(65534)
                os.setuid(65534)

            result = run(copy, "resizing", preexec_fn=become_nobody)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertNotIn("rondo-heap info", result.stderr)


class Programs(unittest.TestCase):
    def both(self, *command, **options):
        """What a program does, and what it does with the heap."""
        without, within = (run(*command, heap=heap, **options) for heap in (False, True))
        self.assertEqual(without.returncode, 0, without.stderr)
        self.assertEqual(within.returncode, 0, within.stderr)
        self.assertEqual(within.stdout, without.stdout)
        return within

    def test_python(self):
        script = """
import hashlib, multiprocessing, subprocess, threading
def work(number):
    data = bytearray(number.to_bytes(2, "little") * 400_000)
    return hashlib.sha256(bytes(data) * 3).hexdigest()
table = bytearray(bytes(range(256)) * 20_000)
def look(number):
    table[number] = 255 - number
    found = sum(table[:1000])
    table[number] = number
    return found
with multiprocessing.get_context("fork").Pool(3) as pool:
    print(pool.map(work, range(20)), pool.map(look, range(20)), sum(table[:1000]))
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(subprocess.run(["sort", "-n"], input="\\n".join(str(i * 7919 % 100_003) for i in range(100_000)), text=True,
                     capture_output=True).stdout[-40:])
"""
        self.assertRegex(self.both(sys.executable, "-c", script).stderr, USED)

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_git(self):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(5):
                with open(os.path.join(folder, f"file{number}"), "w", encoding="utf-8") as file:
                    file.write("\n".join(str(i * number % 1013) for i in range(200_000)))
            script = """
set -e
rm -rf .git
export GIT_AUTHOR_DATE="2026-01-01 00:00 +0000" GIT_COMMITTER_DATE="2026-01-01 00:00 +0000"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q -b main .; git add .; git commit -q -m one; git rev-parse HEAD
git gc -q --aggressive; git fsck --full; git show | sha256sum; git archive HEAD | sha256sum; rm -rf .git
"""
            self.assertRegex(self.both("sh", "-c", script, cwd=folder).stderr, USED)


if __name__ == "__main__":
    unittest.main()
