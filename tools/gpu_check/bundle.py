# SPDX-License-Identifier: Apache-2.0
"""Collects what a build folder has for gpu-check, in a manifest or in a folder that runs on another machine.

Usage: bundle.py describe SOURCE_ROOT BUILD MANIFEST
       bundle.py bundle SOURCE_ROOT BUILD FOLDER
"""
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys

import commands

MAX_BYTES = 60_000_000
GLIBC = (2, 36)  # Debian 12's
# Provided by the target machine: the parts of the C library, and the driver, which is loaded by name.
OF_THE_MACHINE = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|anl|mvec)|libcuda|libnvidia-.*)\.so\b")
HERE = os.path.dirname(os.path.abspath(__file__))


class Refused(Exception):
    pass


def git(root, *arguments):
    found = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    return found.stdout.strip() if found.returncode == 0 else None


def introspection(build, name):
    path = os.path.join(build, "meson-info", f"intro-{name}.json")
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise Refused(f"{build} is not a Meson build folder: {error}") from error


def programs(build, named):
    """Returns the executables of the build whose names satisfy `named`."""
    found = [target["filename"][0] for target in introspection(build, "targets") if target["type"] == "executable"]
    return sorted(path for path in found if named(os.path.basename(path)) and os.path.exists(path))


def needs_gpu(test):
    return any(name.split(":")[-1] == "gpu" for name in test["suite"])


def own_environment(test):
    """The environment of a test, without the path to the build's libraries: programs find the bundled ones."""
    return {name: value for name, value in test["env"].items() if name != "LD_LIBRARY_PATH"}


def describe(source, build, place):
    """Returns the manifest. place(path) adds a file and returns its path relative to the manifest's root."""

    def argument(text):
        if os.sep in text and os.path.isfile(os.path.join(build, text)):  # meson runs tests in the build folder
            text = os.path.join(build, text)
        inside = os.path.isabs(text) and any(text.startswith(root + os.sep) for root in (source, build))
        if not inside:
            return text
        if os.path.isdir(text) or not os.path.exists(text):
            raise Refused(f"a test of suite 'gpu' needs {text}, which is "
                          + ("a folder" if os.path.isdir(text) else "not there: build first"))
        return {"file": place(text)}

    def program(text):
        if re.match(r"python3[.\d]*$", os.path.basename(text)):
            return "python3"
        if not os.path.exists(text):
            raise Refused(f"a test of suite 'gpu' needs {text}, which is not there: build first")
        return argument(text)

    tests = [{"name": test["name"], "timeout": test["timeout"],
              "command": [program(test["cmd"][0]), *(argument(text) for text in test["cmd"][1:])],
              "environment": {name: argument(value) for name, value in own_environment(test).items()}}
             for test in introspection(build, "tests") if needs_gpu(test)]
    if not tests:
        raise Refused(f"{build} has no test that needs a GPU: it was configured without CUDA, or without tests")
    perf = programs(build, lambda name: name == "rondo-perf")
    status = git(source, "status", "--porcelain")
    return {
        "root": "..",
        "libraries": None,
        "machine": platform.machine(),
        "glibc": [0, 0],
        "commit": git(source, "rev-parse", "HEAD"),
        "dirty": None if status is None else status != "",
        "tests": tests,
        "benchmarks": [place(path) for path in programs(build, lambda name: name.endswith(commands.BENCHMARK_SUFFIX))],
        "perf": place(perf[0]) if perf else None,
    }


def write(path, manifest):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file, indent=1)
        file.write("\n")


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def shared_libraries(path):
    """Returns name -> path of every shared library that a program loads at start, except those of the machine."""
    output = subprocess.run(["ldd", path], capture_output=True, text=True).stdout
    found = {}
    for name, target in re.findall(r"^\s*(\S+) => (\S+|not found)", output, re.M):
        name = os.path.basename(name)
        if OF_THE_MACHINE.match(name):
            continue
        if target == "not":
            raise Refused(f"{path} needs {name}, which is not there")
        found[name] = target
    return found


def needed_glibc(paths):
    """Returns the newest glibc version whose symbols any file needs, and that file."""
    newest = ((0, 0), None)
    for path in paths:
        symbols = subprocess.run(["objdump", "-T", path], capture_output=True, text=True).stdout
        for major, minor in re.findall(r"\*UND\*.*\bGLIBC_(\d+)\.(\d+)", symbols):
            newest = max(newest, ((int(major), int(minor)), path), key=lambda pair: pair[0])
    return newest


class Bundle:
    """A folder being filled: bin/ has the programs, lib/ the libraries, check/ the runner."""

    def __init__(self, folder):
        self.folder = folder
        self.placed = {}

    def place(self, path):
        """Copies a program, or an argument file of one; a second file of the same name gets a number."""
        path = os.path.realpath(path)
        if path not in self.placed:
            taken = set(self.placed.values())
            number, name = 1, os.path.basename(path)
            while f"bin/{name}" in taken:
                number += 1
                name = f"{number}-{os.path.basename(path)}"
            self.placed[path] = f"bin/{name}"
            self.copy(path, self.placed[path])
        return self.placed[path]

    def copy(self, source, target):
        target = os.path.join(self.folder, target)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(source, target)
        if is_elf(source):
            subprocess.run(["strip", "--strip-unneeded", target], check=True)

    def add_libraries(self):
        elves = [path for path in self.placed if is_elf(path)]
        libraries = {}
        for path in elves:
            libraries.update(shared_libraries(path))
        os.makedirs(os.path.join(self.folder, "lib"), exist_ok=True)
        for name, path in libraries.items():
            self.copy(os.path.realpath(path), f"lib/{name}")
        return [*elves, *libraries.values()]

    def add_runner(self, source):
        for path in [*(os.path.join(HERE, name) for name in ("commands.py", "gpu.py", "parts.py", "run.py")),
                     os.path.join(source, "tools/lib/summarize.py")]:
            self.copy(path, f"check/{os.path.basename(path)}")
        self.copy(os.path.join(HERE, "launcher.sh"), "gpu-check")
        os.chmod(os.path.join(self.folder, "gpu-check"), 0o755)

    def bytes(self):
        return sum(os.path.getsize(path) for path in glob.glob(f"{self.folder}/**", recursive=True)
                   if os.path.isfile(path))


def clear(folder):
    """Prepares the folder: replaces an earlier bundle, but refuses to touch anything else."""
    if not os.path.exists(folder):
        os.makedirs(folder)
    elif os.path.exists(os.path.join(folder, "check/manifest.json")):
        for name in ("bin", "lib", "check"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    elif not os.path.isdir(folder) or os.listdir(folder):
        raise Refused(f"{folder} exists, and is neither empty nor an earlier bundle")


def make(source, build, folder):
    clear(folder)
    bundle = Bundle(folder)
    manifest = describe(source, build, bundle.place)
    elves = bundle.add_libraries()
    bundle.add_runner(source)
    newest, needs_it = needed_glibc(elves)
    manifest.update(libraries="lib", glibc=list(newest))
    write(os.path.join(folder, "check/manifest.json"), manifest)
    size = bundle.bytes()
    print(f"{folder}: {len(manifest['tests'])} tests, {len(manifest['benchmarks'])} kernel benchmarks, "
          f"{size / 1e6:.1f} MB, glibc {newest[0]}.{newest[1]} or later")
    if newest > GLIBC:
        print(f"It does not run where glibc is {GLIBC[0]}.{GLIBC[1]} (Debian 12), because of {needs_it}: "
              "bundle on an older system to have that")
    if size > MAX_BYTES:
        raise Refused(f"{folder} is larger than {MAX_BYTES / 1e6:.0f} MB")
    print(f"There: {os.path.basename(folder)}/gpu-check")


def main():
    what, source, build, target = sys.argv[1:]
    source, build, target = (os.path.realpath(path) for path in (source, build, target))
    try:
        if what == "describe":
            root = os.path.dirname(target)
            manifest = describe(source, build, lambda path: os.path.relpath(path, source))
            write(target, {**manifest, "root": os.path.relpath(source, root)})
        else:
            make(source, build, target)
    except Refused as reason:
        print(f"gpu-check: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
