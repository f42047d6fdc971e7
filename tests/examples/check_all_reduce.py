# SPDX-License-Identifier: Apache-2.0
"""check_all_reduce.py RONDO-RUN ALL_REDUCE RANKS: every rank prints the sums."""
import re
import subprocess
import sys

launcher, program, ranks = sys.argv[1], sys.argv[2], int(sys.argv[3])
run = subprocess.run([launcher, "-n", str(ranks), program], text=True, capture_output=True)
sums = f"{ranks} {ranks * (ranks - 1) // 2} {ranks / 2:g}"
wanted = sorted(f"rank {rank} of {ranks}: {sums}" for rank in range(ranks))
found = sorted(re.findall(r"rank \d+ of \d+: [^\n]*", run.stdout))
if run.returncode != 0 or found != wanted:
    print(f"exit code {run.returncode}\nwanted {wanted}\nfound {found}\n{run.stdout}{run.stderr}")
    sys.exit(1)
