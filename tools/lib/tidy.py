# SPDX-License-Identifier: Apache-2.0
"""tidy.py BUILD [FILE...]: runs clang-tidy on the product's code as the build folder BUILD compiles it, or on these
files alone, or with --changed-since COMMIT on the units of files that differ from it; -j N: N processes. Prints
each finding once; exit code 1 if there are any, 77 if clang-tidy 14 is not installed.

clang-tidy spends most of its time in the headers of the standard library. A complete run therefore takes Meson's unity
translation units, of up to twelve files each, instead of single files."""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

# Checks and their findings differ between versions. This one is Debian 12's; Ubuntu 24.04 has it too.
MAJOR = 14
FINDING = re.compile(r"^(\S+?):(\d+):(\d+): (?:warning|error): ")
FOLLOWS = re.compile(r"^(?:\S+?:\d+:\d+: note: |\s)")
INCLUDED = re.compile(r'^#include\s*[<"](.+)[>"]$', re.M)
# The options of g++'s command line that clang needs.
KEPT = ("-I", "-D", "-isystem", "-std=", "-W", "-pthread", "-fPIC")
NOT_MEANT = "--checks=-bugprone-suspicious-include"  # units include their files


class Unit:
    """One entry of the compilation database."""

    def __init__(self, entry):
        self.folder = entry["directory"]
        self.path = os.path.normpath(os.path.join(self.folder, entry["file"]))
        self.output = entry["output"]
        words = entry.get("arguments") or shlex.split(entry["command"])
        self.flags = [word for word in words[1:] if word.startswith(KEPT)]
        self.sources = [self.path]
        if "-unity" in os.path.basename(self.path):
            with open(self.path, encoding="utf-8") as file:
                self.sources = [os.path.normpath(os.path.join(os.path.dirname(self.path), one))
                                for one in INCLUDED.findall(file.read())]


def units(build):
    """The product's C++, without tests, examples and the PyTorch binding, whose headers take too long."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        found = [Unit(entry) for entry in json.load(file)]
    left_out = ("tests/", "examples/", "runtime/bindings/torch/")
    return [unit for unit in found if not unit.output.startswith(left_out) and unit.path.endswith((".cc", ".cpp"))]


def source_for(path, known):
    """The source to check for a file, with its unit: the file itself or, for a header, a source in the nearest folder
    that includes it. None if there is none."""
    pairs = [(source, unit) for unit in known for source in unit.sources]
    if not path.endswith(".h"):
        return next((pair for pair in pairs if pair[0] == path), None)
    include = re.compile(r'^#include ".*\b' + re.escape(os.path.basename(path)) + '"', re.M)

    def includes(source):
        with open(source, encoding="utf-8") as file:
            return include.search(file.read())

    def distance(pair):
        source = pair[0]
        same_name = os.path.splitext(os.path.basename(source))[0] == os.path.splitext(os.path.basename(path))[0]
        return not same_name, -len(os.path.commonpath([source, path]))
    return min((pair for pair in pairs if includes(pair[0])), key=distance, default=None)


def program():
    for name in (f"clang-tidy-{MAJOR}", "clang-tidy"):
        if shutil.which(name) is not None:
            version = subprocess.run([name, "--version"], text=True, capture_output=True).stdout
            if f"LLVM version {MAJOR}." in version:
                return name
    return None


def tidy(name, path, unit):
    """clang-tidy's exit code and output for one file, compiled with the unit's flags."""
    command = [name, "--quiet", NOT_MEANT, path, "--", "-x", "c++", *unit.flags]
    done = subprocess.run(command, cwd=unit.folder, text=True, capture_output=True)
    return done.returncode, done.stdout, done.stderr


def findings(text, folder, root):
    """Each finding with the lines that belong to it; paths in `text` are relative to the folder, in the result to the
    root."""
    found = []
    for line in text.splitlines():
        match = FINDING.match(line)
        if match:
            path = os.path.relpath(os.path.realpath(os.path.join(folder, match[1])), root)
            found.append([path + line[match.end(1):]])
        elif found and FOLLOWS.match(line):
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def changed_since(commit, root):
    listed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", commit, "--", "*.cc", "*.h"], cwd=root,
                            text=True, stdout=subprocess.PIPE, check=True).stdout
    return [os.path.join(root, path) for path in listed.splitlines()]


def work(build, files, changed):
    """Pairs of a file to check and the unit whose flags compile it. `changed`: only units of these files; None: all."""
    known = units(build)
    if changed is not None:
        known = [pair[1] for path in changed if (pair := source_for(path, known))]
    if not files:
        return list({unit.path: (unit.path, unit) for unit in known}.values())
    return sorted({pair for path in files if (pair := source_for(os.path.realpath(path), known))}, key=lambda p: p[0])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition(":")[0])
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--changed-since", metavar="COMMIT")
    parser.add_argument("build")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    name = program()
    if name is None:
        print(f"skipped: clang-tidy {MAJOR} is not installed")
        return 77
    build = os.path.realpath(options.build)
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
    changed = None if options.changed_since is None else changed_since(options.changed_since, root)
    seen, failed = {}, False
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        runs = [(unit, pool.submit(tidy, name, path, unit)) for path, unit in work(build, options.files, changed)]
        for unit, run in runs:
            code, out, err = run.result()
            found = findings(out, unit.folder, root)
            seen.update(dict.fromkeys(found))
            if code != 0 and not found:
                failed = True
                print(out + err, file=sys.stderr)
    for one in seen:
        print(one)
    print(f"clang-tidy: {len(runs)} units, {len(seen)} findings")
    return 1 if seen or failed else 0


if __name__ == "__main__":
    sys.exit(main())
