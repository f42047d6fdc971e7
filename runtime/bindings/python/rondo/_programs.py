# SPDX-License-Identifier: Apache-2.0
"""Rondo's programs, such as rondo-perf: where they are in this installation, and how they are started."""
import os
import pathlib
import shutil
import sys

# Relative to this package, as the library is found: in a wheel of tools/wheel, in a build folder.
ROOMS = ("bench/perf", "tools/doctor", "tools/explain", "tools/flight", "tools/plan", "tools/ps", "tools/run",
         "tools/topo", "tools/trace")
PLACES = ("bin", *(f"../../../../{room}" for room in ROOMS))


def found(name):
    """The path of a program: of this package, or of an installation in PATH. FileNotFoundError if it is nowhere."""
    folder = pathlib.Path(__file__).parent
    for place in PLACES:
        candidate = (folder / place / name).resolve()
        if candidate.is_file():
            return str(candidate)
    other = shutil.which(name)
    if other is None:
        raise FileNotFoundError(f"{name} is neither in the package nor in PATH: the wheels of tools/wheel have it, and "
                                "meson install puts it into the folder bin of the prefix")
    return other


def start():
    """The program of the same name as the script that pip made, with its arguments, in place of this process."""
    name = os.path.basename(sys.argv[0])
    path = str(pathlib.Path(__file__).parent / "bin" / name)  # in PATH is that script
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{name}: cannot start {path}: {error.strerror}")
