# SPDX-License-Identifier: Apache-2.0
"""What other programs find in the tree: shellcheck in scripts, clang-format in C++."""
import re
import shutil
import subprocess

# Versions of clang-format format the same file differently. This one is Debian 12's; Ubuntu 24.04 has it too.
FORMAT_MAJOR = 14
FORMATTED = (".h", ".hpp", ".c", ".cc", ".cu", ".cuh")
FIRST_LINE = re.compile(r"#!.*\b(?:ba|da)?sh\b")
AT = re.compile(r"^\S+:\d+:\d+: ")


class Missing(Exception):
    """Why a program that a check needs cannot be used, in one sentence."""


def scripts(files):
    """Paths of the shell scripts."""
    return sorted(path for path, text in files.items() if path.endswith(".sh") or FIRST_LINE.match(text))


def lines_at(root, command):
    """The lines of a program's output that name a place; the program fails only together with such a line."""
    done = subprocess.run(command, cwd=root, text=True, capture_output=True)
    lines = (done.stdout + done.stderr).splitlines()
    found = [line for line in lines if AT.match(line)]
    if done.returncode != 0 and not found:
        return lines[:20] or [f"{command[0]} failed ({done.returncode})"]
    return found


def shell_violations(root, files):
    if shutil.which("shellcheck") is None:
        raise Missing("shellcheck is not installed")
    found = scripts(files)
    return lines_at(root, ["shellcheck", "--external-sources", "--format=gcc", *found]) if found else []


def clang_format():
    """The program of the one version that the tree is formatted by."""
    for name in (f"clang-format-{FORMAT_MAJOR}", "clang-format"):
        if shutil.which(name) is None:
            continue
        version = subprocess.run([name, "--version"], text=True, capture_output=True).stdout
        if f" version {FORMAT_MAJOR}." in version:
            return name
    raise Missing(f"clang-format {FORMAT_MAJOR}, which formats the tree, is not installed")


def format_violations(root, files):
    program = clang_format()
    found = sorted(path for path in files if path.endswith(FORMATTED))
    return lines_at(root, [program, "--dry-run", "--Werror", *found]) if found else []
