# SPDX-License-Identifier: Apache-2.0
"""check_survive.py RONDO-RUN SURVIVE: whichever rank dies, each of the others names it and has the right total."""
import re
import subprocess
import sys

launcher, program = sys.argv[1:3]
RANKS = 4


def survivors(victim):
    command = [launcher, "--keep-going", "-n", str(RANKS), program, str(victim)]
    run = subprocess.run(command, text=True, capture_output=True, timeout=60)
    named = re.findall(rf"^\[(\d)\] after \d+ rounds: .*rank {victim} .*died", run.stdout, re.M)
    right = re.findall(rf"^\[(\d)\] rank \d of {RANKS - 1}: the total is right$", run.stdout, re.M)
    others = sorted(str(rank) for rank in range(RANKS) if rank != victim)
    if run.returncode != 137 or sorted(named) != others or sorted(right) != others:
        sys.exit(f"rank {victim} died: exit code {run.returncode}\n{run.stdout}{run.stderr}")


for rank in (0, 2, 3):
    survivors(rank)
wrong = subprocess.run([launcher, "-n", "2", program, "2"], text=True, capture_output=True, timeout=60)
if wrong.returncode != 2 or "from 0 to 1" not in wrong.stdout + wrong.stderr:
    sys.exit(f"rank 2 of 2: exit code {wrong.returncode}\n{wrong.stdout}{wrong.stderr}")
