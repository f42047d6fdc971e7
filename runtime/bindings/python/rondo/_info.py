# SPDX-License-Identifier: Apache-2.0
"""python -m rondo info: what this installation consists of, and what it can use on this machine."""
import os
import pathlib
import sys

from rondo._build import TORCH_VERSION, VERSION
from rondo._comm import init_all, no_gpu
from rondo._library import current_device, library, path
from rondo._programs import found
from rondo.errors import InvalidArgument

PROGRAMS = ("rondo-run", "rondo-doctor", "rondo-perf", "rondo-topo", "rondo-plan", "rondo-flight", "rondo-ps",
            "rondo-trace", "rondo-explain")


def opened():
    """The file that the loader took."""
    library()
    name = os.path.basename(path())
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next((line.split(maxsplit=5)[5].strip() for line in maps if f"/{name}" in line), path())


def transports():
    """Those of the library, best first: it names them to who requests another."""
    try:
        init_all(1, transport="none of them")[0].destroy()
    except InvalidArgument as error:
        return str(error).rpartition("there are: ")[2].rpartition(" [")[0]
    return ""


def gpu():
    device = current_device()
    return f"cuda:{device}" if device >= 0 else f"none: {no_gpu().rpartition('rondo_init_all: ')[2]}"


def program(name):
    try:
        return found(name)
    except FileNotFoundError:
        return "not in this installation"


def rows():
    """Pairs of a name and a value."""
    return [("version", VERSION), ("python", f"{sys.version.split()[0]}, {sys.executable}"),
            ("package", str(pathlib.Path(__file__).parent)), ("library", opened()), ("transports", transports()),
            ("gpu", gpu()), ("torch backend", f"for torch {TORCH_VERSION}" if TORCH_VERSION else "none"),
            *((name, program(name)) for name in PROGRAMS)]


def run():
    """Prints the rows. Returns an exit code."""
    pairs = rows()
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        print(f"{name:<{width}}  {value}")
    return 0
