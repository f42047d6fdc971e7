# SPDX-License-Identifier: Apache-2.0
"""The wheel that tools/wheel makes of a build, made once, and the PyTorch that it is tried with."""
import atexit
import functools
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:4])
PROGRAMS = pathlib.Path(PROGRAM).parent
HUNG_S = 300  # a program that takes longer will not end
NO_NETWORK = 3  # of tools/wheel: auditwheel cannot be installed
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "rondo")
PIP = (CACHE / "wheel-tools" / "bin" / "python", "-m", "pip", "--disable-pip-version-check")


@functools.cache
def folder():
    """For what belongs to no single test; it is removed at the end."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="rondo-wheel-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def _made():
    dist = folder() / "dist"
    return subprocess.run([f"{SOURCE}/tools/wheel", "--build", BUILD, "--output", dist], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=HUNG_S)


def wheel():
    """Its path, and what tools/wheel said. Without a network the test is skipped."""
    done = _made()
    if done.returncode == NO_NETWORK:
        raise unittest.SkipTest(done.stdout.splitlines()[-1])
    if done.returncode != 0:
        raise AssertionError(done.stdout)
    [path] = (folder() / "dist").iterdir()
    return path, done.stdout


def has_backend():
    return any(pathlib.Path(BUILD, "runtime", "bindings", "torch").glob("_torch_*.so"))


def torch_python():
    """The interpreter with the PyTorch that the wheel has a backend for; skips the test if there is none."""
    python = os.environ.get("RONDO_TORCH_PYTHON", "").split(":")[0]
    if not python:
        raise unittest.SkipTest("RONDO_TORCH_PYTHON names no interpreter with PyTorch (tools/test sets it)")
    if not has_backend():
        raise unittest.SkipTest("this build has no backend for PyTorch (tools/test builds it)")
    return python


def torch_folders(python):
    """The prefix of the interpreter, that of the Python that it is an environment of, and where PyTorch is."""
    code = ("import importlib.util, os, sys; found = importlib.util.find_spec('torch'); "
            "print(sys.prefix, sys.base_prefix, os.path.dirname(found.submodule_search_locations[0]), sep='\\n')")
    said = subprocess.run([python, "-E", "-c", code], check=True, text=True, capture_output=True, timeout=60).stdout
    return said.splitlines()


def compiler(variable, usual):
    return shlex.split(os.environ.get(variable, usual))
