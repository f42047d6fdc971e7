# SPDX-License-Identifier: Apache-2.0
"""check_header.py INCLUDE-FOLDER all_functions.c PROGRAM: the program, compiled from that file with NVIDIA's own
nccl.h, calls every function in the header, and runs."""
import re
import subprocess
import sys

from nccl_header import declared

folder, source, program = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    called = set(re.findall(r"\bnccl(\w+)\(", file.read()))
missing = [name for name in declared(folder) if name not in called]
if missing:
    sys.exit("not called: " + ", ".join(missing))
run = subprocess.run([program], text=True, capture_output=True, timeout=60)
print(run.stdout, run.stderr)
sys.exit(run.returncode)
