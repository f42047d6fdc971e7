# SPDX-License-Identifier: Apache-2.0
"""check_jacobi_refuses.py RONDO-RUN JACOBI: wrong options end the program with an error message on every rank."""
import subprocess
import sys

launcher, program = sys.argv[1:3]
CASES = [(["-n", "0"], "-n is '0'"), (["-i", "many"], "-i is 'many'"), (["-x", "1"], "'-x' is not an option"),
         (["-n", "2"], "2 rows cannot be cut into 3 bands")]
failed = 0
for options, sentence in CASES:
    run = subprocess.run([launcher, "-n", "3", program, *options], text=True, capture_output=True, timeout=30)
    if run.returncode == 0 or sentence not in run.stdout + run.stderr:
        failed += 1
        print(f"{options}: exit code {run.returncode}, wanted '{sentence}' in:\n{run.stdout}{run.stderr}")
print(f"{len(CASES) - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
