# SPDX-License-Identifier: Apache-2.0
"""check_torch.py LIBRARY: `import torch` with LD_PRELOAD, in the interpreters listed in RONDO_TORCH_PYTHON (separated
by ':'). Exit code 77: skipped."""
import os
import subprocess
import sys

LIBRARY = os.path.realpath(sys.argv[1])

# torch's libraries are bound to the first library that defines a symbol; ctypes finds the same one.
PROGRAM = """
import ctypes, torch
version = ctypes.c_int()
everything = ctypes.CDLL(None)
assert everything.ncclGetVersion(ctypes.byref(version)) == 0
print(torch.__version__, torch.cuda.is_available(), version.value)
"""


def check(python):
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "RONDO_NCCL_BANNER": "1", "RONDO_NCCL_VERSION": "22999"}
    run = subprocess.run([python, "-c", PROGRAM], text=True, capture_output=True, timeout=300, env=environment)
    print(python, run.stdout, run.stderr)
    return run.returncode == 0 and run.stdout.split()[-1:] == ["22999"] and f"ABI) {LIBRARY}" in run.stderr


pythons = [python for python in os.environ.get("RONDO_TORCH_PYTHON", "").split(":") if python]
if not pythons:
    print("skipped: RONDO_TORCH_PYTHON names no python that has torch")
    sys.exit(77)
sys.exit(0 if all([check(python) for python in pythons]) else 1)
