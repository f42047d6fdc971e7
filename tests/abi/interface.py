# SPDX-License-Identifier: Apache-2.0
"""The binary interface of a library, described from its public header.

The debug information of the libraries themselves is insufficient: -g1, which the tests are built with, has no types,
and a build without -g has none at all. So a stub is compiled with full debug information: a shared library that
defines every function of the public header with an empty body. The compiler already checks that the real functions
have the header's types, since the files that define them include it; same_functions() checks that library and stub
export the same ones. abidw describes the stub, which depends neither on optimisation nor on the library's internals.
"""
import os
import re
import subprocess

FUNCTION = re.compile(r"^(RONDO_API [^;{}]*\));", re.M)
CONSTANT = re.compile(r"^ +(RONDO_[A-Z0-9_]+) = |^#define (RONDO_[A-Z0-9_]+) +\(?-?\d", re.M)
OF_THE_STUB = "rondo_constants"

DESCRIBE = ["abidw", "--drop-private-types", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
            "--no-architecture"]
# "harmless" are changes such as a further value of an enumeration.
COMPARE = ["abidiff", "--harmless", "--no-architecture"]
CHANGED = 4  # a bit of abidiff's exit code; 1 and 2 mean that abidiff failed


class Failure(Exception):
    """The reason of a failure, in one sentence."""


def run(*command, **more):
    done = subprocess.run(command, text=True, capture_output=True, **more)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def exported(library):
    """Names that a shared library exports. NCCL's second names, which tests/nccl checks, are left out."""
    names = {line.split()[-1].split("@")[0] for line in run("nm", "-D", "--defined-only", library).splitlines()}
    return {name for name in names if name != OF_THE_STUB and not name.startswith("pnccl")}


def soname(library):
    found = re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", library))
    return found[1] if found else os.path.basename(library)


def rondo_stub(header):
    """C: the header's functions with empty bodies, and its constants, which no function's type leads to."""
    names = sorted({one or other for one, other in CONSTANT.findall(header)} - {"RONDO_VERSION"})
    values = ", ".join(f"of_{name} = {name}" for name in names)
    body = FUNCTION.sub(r"\1 { __builtin_trap(); }", header)
    return f"{body}\nenum rondo_constants {{ {values} }} rondo_constants;\n"


def nccl_stub(types, functions):
    """C++: likewise, from the table of NCCL's functions."""
    once = "#pragma once\n"
    return (types.replace(once, "") + functions.replace(once, "") +
            "#define STUB(result, name, parameters) result nccl##name parameters { __builtin_trap(); }\n"
            'extern "C" {\nRONDO_NCCL_FUNCTIONS(STUB)\n}\n')


def make_stub(source, suffix, compiler, name, folder):
    """Compiles a stub in `folder`; returns its path."""
    with open(os.path.join(folder, "stub" + suffix), "w", encoding="utf-8") as file:
        file.write(source)
    run(*compiler, "-g", "-O0", "-w", "-fPIC", "-shared", "-nostdlib", f"-Wl,-soname,{name}", "-o", "stub.so",
        "stub" + suffix, cwd=folder)
    return os.path.join(folder, "stub.so")


def same_functions(library, stub, header):
    """Fails unless the library exports exactly the header's functions."""
    real, declared = exported(library), exported(stub)
    name = os.path.basename(library)
    wrong = [f"{header} declares {one}, which {name} does not export" for one in sorted(declared - real)]
    wrong += [f"{name} exports {one}, which {header} does not declare" for one in sorted(real - declared)]
    if wrong:
        raise Failure("\n".join(wrong))


def describe(stub, description):
    run(*DESCRIBE, "--out-file", description, stub)


def differences(description, stub):
    """abidiff's report on a stub compared with a stored description; empty if they agree."""
    done = subprocess.run([*COMPARE, description, stub], text=True, capture_output=True)
    if done.returncode & ~(CHANGED | CHANGED << 1):
        raise Failure(f"abidiff failed ({done.returncode}): {done.stdout}{done.stderr}")
    return done.stdout if done.returncode else ""
