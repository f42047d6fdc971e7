# SPDX-License-Identifier: Apache-2.0
"""Rondo's libnccl.so.2, for LD_PRELOAD and VLLM_NCCL_SO_PATH; see docs/nccl.md."""
import pathlib
import sys


def path():
    """Its path."""
    return str(pathlib.Path(__file__).parent / "libnccl.so.2")


def main():
    """The program rondo-nccl-path, which pip installs with Rondo."""
    if len(sys.argv) > 1:
        sys.exit("rondo-nccl-path: takes no arguments")
    print(path())
