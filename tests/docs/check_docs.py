# SPDX-License-Identifier: Apache-2.0
"""check_docs.py SOURCE BUILD HOST-PROGRAM NCCL-PROGRAM: runs the code blocks of the documents, as a reader would.

Each document has a scratch folder, which is also the home of its reader, and an installed Rondo; its blocks run there
in order and may depend on earlier ones. './program' is a program that uses Rondo, or in NCCL_READERS, NCCL. blocks.py
decides which blocks count. A block that needs a tool missing on this machine is skipped.
"""
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from blocks import PROGRAMS, BadDocument, blocks_of, program_name

SOURCE, BUILD, HOST_PROGRAM, NCCL_PROGRAM = (os.path.abspath(path) for path in sys.argv[1:5])
NCCL_READERS = ("README.md", "docs/nccl.md")
OPTIONAL = ("cmake", "mpirun", "openssl", "torchrun")
NCCL_HEADER = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "include", "nccl.h")
MPIS = {"Open MPI": "Open MPI", "MPICH": "HYDRA"}  # a section, and a word in the output of its `mpirun --version`
LIMIT_S = 120
LAUNCHED = re.compile(r"RONDO_|RANK$|WORLD_SIZE$|LOCAL_|MASTER_|OMPI_|PMI|SLURM_")


def documents():
    found = [os.path.join(SOURCE, "README.md"), *glob.glob(os.path.join(SOURCE, "docs", "*.md")),
             *glob.glob(os.path.join(SOURCE, "examples", "**", "*.md"), recursive=True)]
    return sorted(os.path.relpath(path, SOURCE) for path in found)


def reader_environment(home, prefix):
    """The environment of a shell with Rondo installed at `prefix` that no launcher started."""
    library = os.path.dirname(only(prefix, "librondo.so"))
    programs = os.path.dirname(only(prefix, "bin/rondo-run"))
    compiler = os.path.join(home, "bin")
    os.mkdir(compiler)
    for name, variable in (("cc", "CC"), ("c++", "CXX")):
        with open(os.path.join(compiler, name), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {compiler_command(name, variable)} "$@"\n')
        os.chmod(file.name, 0o755)
    # Where tools/test puts the package with PyTorch's backend comes first.
    packages = [os.environ.get("PYTHONPATH"), os.path.join(BUILD, "runtime", "bindings", "python")]
    torch = os.path.dirname(os.environ.get("RONDO_TORCH_PYTHON", "").split(":")[0])
    more = {"HOME": home, "LD_LIBRARY_PATH": library, "PKG_CONFIG_SYSROOT_DIR": prefix,
            "PYTHONPATH": ":".join(filter(None, packages)),
            "PKG_CONFIG_PATH": os.path.dirname(only(prefix, "rondo.pc")),
            "CMAKE_PREFIX_PATH": os.path.dirname(programs),
            "PATH": ":".join(filter(None, (compiler, programs, os.environ["PATH"], torch)))}
    if os.geteuid() == 0:  # Open MPI requires it; docs/launching.md says so
        more.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    return {**{name: value for name, value in os.environ.items() if not LAUNCHED.match(name)}, **more}


def compiler_command(name, variable):
    """The compiler with its full path, since the reader's of that name precedes it in PATH."""
    words = shlex.split(os.environ.get(variable, name))
    return shlex.join([shutil.which(words[0]) or words[0], *(shutil.which(word) or word for word in words[1:])])


def only(folder, name):
    found = glob.glob(os.path.join(folder, "**", name), recursive=True)
    if len(found) != 1:
        raise SystemExit(f"{name} below {folder}: {found}")
    return found[0]


def missing(block, environment):
    """The tool that a block needs and this machine lacks, or None."""
    for tool in OPTIONAL:
        if re.search(rf"\b{tool}\b", block.text) and shutil.which(tool, path=environment["PATH"]) is None:
            return tool
    if "mpirun" in block.text and block.section in MPIS:
        version = subprocess.run(["mpirun", "--version"], env=environment, text=True, capture_output=True).stdout
        if MPIS[block.section] not in version:
            return block.section
    if ("nccl.h" in block.text or "CUDA_HOME" in block.text) and not os.path.exists(NCCL_HEADER):
        return "nccl.h"
    return None


def without_folders(text):
    """Drops folders: installed files are in other places than on the reader's machine."""
    return re.sub(r"/\S*/", "/", text)


class Reader:
    """One document's reader."""

    def __init__(self, document, home, environment):
        self.document, self.home, self.environment = document, home, environment
        self.passed, self.output = 0, ""
        self.faults, self.skipped = [], []

    def read(self):
        with open(os.path.join(SOURCE, self.document), encoding="utf-8") as file:
            text = file.read()
        try:
            blocks = blocks_of(text)
            for number, block in enumerate(blocks):
                self.take(block, blocks[number + 1:])
        except BadDocument as bad:
            self.faults.append(f"{self.document}: {bad}")

    def take(self, block, later):
        if block.mark:
            self.check_mark(block)
        elif (block.kind == "sh" or block.kind in PROGRAMS) and (absent := missing(block, self.environment)):
            self.skipped.append(f"{self.document}:{block.line}: {absent} is not installed")
        elif block.kind in PROGRAMS:
            with open(os.path.join(self.home, program_name(block, later)), "w", encoding="utf-8") as file:
                file.write(block.text)
            return
        elif block.kind == "sh":
            self.run(block)
            return
        elif block.kind == "" and block.follows and self.output is not None:
            self.compare(block)
        self.output = None

    def check_mark(self, block):
        for path in re.findall(r"\b(?:tests|tools|bench)/[\w/.-]+\w", block.mark):
            if not os.path.exists(os.path.join(SOURCE, path)):
                self.faults.append(f"{self.document}:{block.line}: its mark names {path}, which is not there")

    def run(self, block):
        state = shlex.quote(os.path.join(self.home, ".exports"))
        script = f"set -eo pipefail\n[ ! -f {state} ] || . {state}\n{block.text}\nexport -p > {state}\n"
        try:
            run = subprocess.run(["bash", "-c", script], cwd=self.home, env=self.environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
            outcome, self.output = run.returncode, run.stdout
        except subprocess.TimeoutExpired as late:
            outcome, self.output = f"none within {LIMIT_S} s", (late.stdout or b"").decode()
        if outcome == 0:
            self.passed += 1
        else:
            self.faults.append(f"{self.document}:{block.line}: exit code {outcome}\n{block.text}{self.output}")

    def compare(self, block):
        printed = {without_folders(line) for line in self.output.splitlines()}
        lost = [line for line in block.text.splitlines() if line and without_folders(line) not in printed]
        if lost:
            self.faults.append(f"{self.document}:{block.line}: not printed: {lost}, but\n{self.output}")


def main():
    passed, faults, skipped = 0, [], []
    with tempfile.TemporaryDirectory() as scratch:
        prefix = os.path.join(scratch, "installed")
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", prefix], check=True,
                       stdout=subprocess.DEVNULL)
        for document in documents():
            home = os.path.join(scratch, document.replace("/", "-"))
            os.mkdir(home)
            os.symlink(NCCL_PROGRAM if document in NCCL_READERS else HOST_PROGRAM, os.path.join(home, "program"))
            reader = Reader(document, home, reader_environment(home, prefix))
            reader.read()
            passed += reader.passed
            faults += reader.faults
            skipped += reader.skipped
    for note in skipped:
        print(f"skipped: {note}")
    print("\n".join(faults))
    print(f"{passed} passed, {len(faults)} failed" + (f", {len(skipped)} skipped" if skipped else ""), flush=True)
    return 1 if faults or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
