# SPDX-License-Identifier: Apache-2.0
"""python -m rondo bench: a short benchmark by rondo-perf."""
import os
import re
import subprocess

from rondo._programs import found

LIMIT_S = 20


def ranks_here():
    """Two ranks, and one for each CPU that this process may use."""
    cpus = len(os.sched_getaffinity(0))
    return f"2,{cpus}" if cpus > 2 else "2"


def run(collective, ranks, picture):
    """Prints a table for each number of ranks and writes the picture. Returns an exit code."""
    ranks = ranks or ranks_here()
    command = [found("rondo-perf"), collective, "--ranks", ranks, "--memory", "host", "--plot", picture]
    if collective != "barrier":
        command += ["-b", "8", "-e", "8M", "-f", "4"]
    bench = subprocess.Popen(command)
    try:
        code = bench.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        print(f"The benchmark did not end within {LIMIT_S} s, and was stopped. "
              f"Other programs may use the CPUs; {' '.join(command)} runs without that limit.", flush=True)
        code = 124
    finally:
        bench.terminate()  # also at Ctrl-C
        bench.wait()
    if code == 0:
        print(f"Picture: {os.path.abspath(picture)}")
    return code


def check_ranks(text):
    """A value of --ranks."""
    if not re.fullmatch(r"[1-9]\d{0,3}(,[1-9]\d{0,3})*", text):
        raise ValueError(f"'{text}': it must be a number of ranks, or several such as 2,4")
    return text
