# SPDX-License-Identifier: Apache-2.0
"""Programs that look like MPI and rondo-perf to bench/compare, with known times; and bench/compare beside them."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

from compare_folder import PROGRAM

COMPILER = """
import sys
open(sys.argv[sys.argv.index("-o") + 1], "w").close()
"""

# A call takes {factor} microseconds per byte. gather fails from 2 KiB on, scatter hangs with a child that
# ignores SIGTERM, and pml ucx does not exist.
LAUNCHER = """
import os, re, signal, subprocess, sys, time
if sys.argv[1:] == ["--version"]:
    sys.exit(print("{sign} 9.1"))
if "ucx" in sys.argv:
    sys.exit("ucx cannot be selected")
print("# {sign} 9.1, package: none")
with open(os.environ["FAKE_LOG"], "a") as log:
    log.write("{sign}\\n")
for size in (int(word.split(":")[0]) for word in sys.argv if re.fullmatch(r"\\d+:\\d+:\\d+", word)):
    if "gather" in sys.argv and size >= 2048:
        sys.exit("{sign} is broken here")
    if "scatter" in sys.argv:
        ignore = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)"
        child = subprocess.Popen([sys.executable, "-c", ignore])
        with open(os.environ["FAKE_LOG"] + ".pids", "a") as log:
            log.write(str(child.pid) + "\\n")
        time.sleep(100)
    print(size, max(1, size) * {factor}.0, flush=True)
"""

# One microsecond per byte, half of that in place.
PERF = """
import json, os, sys
if sys.argv[1:] == ["--version"]:
    sys.exit(print("rondo-perf 0.0"))
if sys.argv[1:] == ["--probe"]:
    states = open(os.environ["FAKE_LOG"] + ".states").read().split()
    with open(os.environ["FAKE_LOG"] + ".states", "w") as file:
        file.write(" ".join(states[1:] or states))
    if states[0] == "fails":
        sys.exit("the probe is broken here")
    one_cpu = states[0] == "none"
    sys.exit(print("nothing to probe" if one_cpu else states[0] + " ns one way between CPUs 0 and 1"))
option = lambda name: sys.argv[sys.argv.index(name) + 1]
if os.environ["RANK"] == "0":
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write("rondo\\n")
    size, rows = int(option("-b")), []
    while size <= int(option("-e")):
        us = max(1.0, float(size))
        rows.append({"bytes": size // 3 * 3, "out_of_place_us": us, "in_place_us": us / 2})
        size = max(1, size) * int(option("-f"))
    with open(option("--json"), "w") as file:
        json.dump({"results": rows}, file)
"""

# An interpreter with PyTorch: a call takes 2 microseconds per byte with DeepSpeed, 3 with vLLM, 5 with Gloo.
PYTHON = """
import re, sys
if sys.argv[1] == "-c":
    sys.exit(print("2.99"))
for size in (int(word.split(":")[0]) for word in sys.argv if re.fullmatch(r"\\d+:\\d+:\\d+", word)):
    print(size, size * {"deepspeed": 2.0, "vllm": 3.0}.get(sys.argv[2], 5.0))
"""

# The MPI libraries that environments may have, and their signs.
PYPI = {"openmpi5": "Open MPI", "openmpi5-ucx": "Open MPI", "mpich5": "MPICH", "intelmpi": "Intel(R) MPI Library"}


def write(folder):
    """Writes the programs: Open MPI takes twice as long as Rondo, MPICH three times as long."""
    programs = {"mpicc.openmpi": COMPILER, "mpicc.mpich": COMPILER, "rondo-perf": PERF,
                "mpirun.openmpi": LAUNCHER.format(sign="Open MPI", factor=2),
                "mpiexec.mpich": LAUNCHER.format(sign="MPICH", factor=3)}
    for name, text in programs.items():
        write_program(os.path.join(folder, name), text)


def write_environment(folder, sign, factor):
    """An MPI library as install_mpi.py installs it."""
    os.makedirs(os.path.join(folder, "bin"))
    launcher = LAUNCHER.format(sign=sign, factor=factor)
    for name, text in ("mpicc", COMPILER), ("mpirun", launcher), ("mpiexec", launcher), ("mpiexec.hydra", launcher):
        write_program(os.path.join(folder, "bin", name), text)


def write_package(folder, name):
    """A package as install_ops.py installs it, without its files."""
    about = os.path.join(folder, f"{name.replace('-', '_')}-9.1.dist-info")
    os.makedirs(about)
    with open(os.path.join(about, "METADATA"), "w", encoding="utf-8") as file:
        file.write(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.1\n")


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!{sys.executable} -IS\n{text}")
    os.chmod(path, stat.S_IRWXU)


def set_states(log, states):
    """Sets the results of rondo-perf's probe, in order; the last one repeats."""
    with open(log + ".states", "w", encoding="utf-8") as file:
        file.write(states)


class FakeCase(unittest.TestCase):
    """The times of the contestants are known, and therefore the whole output."""

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        write(self.folder)
        set_states(self.path("log"), "30.0")

    def path(self, name):
        return os.path.join(self.folder, name)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read().split("\n")[:-1]

    def compare(self, *arguments, code=0):
        env = {"PATH": self.folder, "FAKE_LOG": self.path("log")}
        result = subprocess.run(
            [sys.executable, PROGRAM, "--ranks", "2", "--first", "8", "--last", "2K", "--factor", "16",
             "--json", self.path("json"), "--plot", self.path("svg"), "--mpi-folder", self.path("mpi"),
             "--ops-folder", self.path("ops"), *arguments],
            env=env, text=True, capture_output=True, timeout=200)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def results(self):
        with open(self.path("json"), encoding="utf-8") as file:
            return json.load(file)

    def rows(self):
        return self.results()["rows"]
