# SPDX-License-Identifier: Apache-2.0
"""with_torch.py SCRIPT ARGUMENT...: runs it with the interpreter in RONDO_TORCH_PYTHON; exits 77 if that is not set.

with_torch.py --with-rondo SCRIPT ARGUMENT...: also exits 77 if PYTHONPATH has no Rondo backend.
"""
import importlib.metadata
import os
import sys

python = os.environ.get("RONDO_TORCH_PYTHON", "").split(":")[0]  # the first if there are several
if not python:
    print("skipped: RONDO_TORCH_PYTHON names no interpreter with PyTorch (tools/test sets it)")
    sys.exit(77)
arguments = sys.argv[1:]
if arguments[0] == "--with-rondo":
    arguments = arguments[1:]
    # This interpreter has the same PYTHONPATH and needs no torch to search it.
    if not importlib.metadata.entry_points(group="torch.distributed.backends", name="rondo"):
        print("skipped: PYTHONPATH has no backend of Rondo's for PyTorch (tools/test builds it and sets PYTHONPATH)")
        sys.exit(77)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # ranks share the cores, and results repeat bit for bit
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.execv(python, [python, *arguments])
