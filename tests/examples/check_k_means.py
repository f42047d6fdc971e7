# SPDX-License-Identifier: Apache-2.0
"""check_k_means.py RONDO-RUN K_MEANS: any number of ranks finds the same four clusters, in as many iterations."""
import re
import subprocess
import sys

launcher, program = sys.argv[1:3]
CENTRES = {(511, 511), (3516, 711), (1011, 4511), (4006, 4011)}  # of squares with sides of 1,024
results = {}
for ranks in (1, 2, 5):
    command = [launcher, "--no-prefix", "-n", str(ranks), program]
    run = subprocess.run(command, text=True, capture_output=True, timeout=60)
    clusters = re.findall(r"centre \((\d+), (\d+)\), (\d+) points", run.stdout)
    results[ranks] = (run.returncode, sorted(clusters), re.findall(r"(\d+) iterations", run.stdout))
    centres = {(int(x), int(y)) for x, y, _ in clusters}
    if run.returncode != 0 or centres != CENTRES or {points for *_, points in clusters} != {"5000"}:
        sys.exit(f"{ranks} ranks: exit code {run.returncode}, wanted {CENTRES}:\n{run.stdout}{run.stderr}")
if len({str(result) for result in results.values()}) != 1:
    sys.exit(f"the results differ: {results}")
