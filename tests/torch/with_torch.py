"""with_torch.py SCRIPT ARGUMENT...: runs it with the interpreter that RONDO_TORCH_PYTHON names; 77: it names none."""
import os
import sys

python = os.environ.get("RONDO_TORCH_PYTHON")
if not python:
    print("skipped: RONDO_TORCH_PYTHON names no interpreter with PyTorch (tools/test sets it)")
    sys.exit(77)
os.environ.setdefault("OMP_NUM_THREADS", "1")  # ranks share the cores, and results repeat bit for bit
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.execv(python, [python, *sys.argv[1:]])
