# SPDX-License-Identifier: Apache-2.0
"""check_compilers.py INCLUDE-FOLDER PROGRAM.cc: every compiler here takes rondo.hpp, with and without exceptions, and
without a warning of those that its users may have turned into errors."""
import os
import shlex
import shutil
import subprocess
import sys

INCLUDE, PROGRAM = sys.argv[1:3]
KNOWN = (os.environ.get("CXX", ""), "g++", "clang++-14", "clang++")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wold-style-cast", "-Werror")
MODES = (("-std=c++20",), ("-std=c++20", "-fno-exceptions", "-fno-rtti"), ("-std=c++2b",))


def compilers():
    """Each once, whatever its names."""
    found = {}
    for name in KNOWN:
        words = shlex.split(name)
        if words and shutil.which(words[0]):
            found.setdefault(os.path.realpath(shutil.which(words[-1]) or words[-1]), words)
    return found.values()


failed = passed = 0
for compiler in compilers():
    for mode in MODES:
        command = [*compiler, *mode, *WARNINGS, "-fsyntax-only", f"-I{INCLUDE}", PROGRAM]
        run = subprocess.run(command, text=True, capture_output=True)
        passed, failed = passed + (run.returncode == 0), failed + (run.returncode != 0)
        if run.returncode != 0:
            print(shlex.join(command), run.stderr, sep="\n")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not passed else 0)
