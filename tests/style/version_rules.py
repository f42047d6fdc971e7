# SPDX-License-Identifier: Apache-2.0
"""The version: meson.build states it, and every other place agrees or derives it."""
import re

SOURCE = "meson.build"
HEADER = "runtime/include/rondo/rondo.h"
PYTHON = "pyproject.toml"
CHANGES = "CHANGELOG.md"

STATED = re.compile(r"^\s*version: '(\d+)\.(\d+)\.(\d+)'", re.M)
MACRO = re.compile(r"^#define RONDO_VERSION (\d+)$", re.M)
LATEST = re.compile(r"^## \[([^\]]+)\]", re.M)
# In text that people read; recorded results keep the version that they were taken with.
IN_WORDS = re.compile(r"(?:\bRondo |\brondo-(?:perf|run) |\blibrondo\.so\.)(\d+\.\d+\.\d+)")
CODE = (".h", ".hpp", ".c", ".cc", ".cu", ".cuh", ".py", ".sh", ".build")


def version_violations(files):
    """files: path -> text. Every place that states another version, or that should derive it."""
    stated = STATED.search(files[SOURCE])
    if not stated:
        return [f"{SOURCE}: project() states no version"]
    major, minor, patch = map(int, stated.groups())
    version = f"{major}.{minor}.{patch}"
    number = major * 10000 + minor * 100 + patch
    found = []
    if MACRO.findall(files[HEADER]) != [str(number)]:
        found.append(f"{HEADER}: RONDO_VERSION must be {number}, as {SOURCE} says {version}")
    project = files[PYTHON].partition("[project]")[2].partition("\n[")[0]
    if re.search(r"^version\s*=", project, re.M) or not re.search(r'^dynamic = \[.*"version".*\]', project, re.M):
        found.append(f"{PYTHON}: the version must be dynamic, which takes it from {SOURCE}")
    latest = LATEST.search(files[CHANGES])
    if not latest or latest[1] != version:
        found.append(f"{CHANGES}: its first version must be {version}, as {SOURCE} says")
    for path, text in sorted(files.items()):
        if not path.endswith((*CODE, ".md")) or path == CHANGES or path.startswith("tests/style/"):
            continue
        for match in IN_WORDS.finditer(text):
            where = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            if path.endswith(CODE):
                found.append(f"{where}: derive the version from RONDO_VERSION or meson.project_version()")
            elif match[1] != version:
                found.append(f"{where}: {match[0]}, and {SOURCE} says {version}")
    return found
