# SPDX-License-Identifier: Apache-2.0
"""Runs the shell script on its standard input in a machine that runs serve.sh.

Usage: remote.py SHARED_FOLDER HOST
"""
import os
import sys
import time

START_S = 300  # of the machine, beside others


def wait_for(path, seconds):
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > end:
            sys.exit(f"remote.py: there is no {path} after {seconds} s")
        time.sleep(0.02)


def main():
    folder = os.path.join(*sys.argv[1:])
    wait_for(f"{folder}/up", START_S)
    name = f"{folder}/{os.getpid()}-{time.monotonic_ns()}"
    with open(f"{name}.script", "w", encoding="utf-8") as file:
        file.write(sys.stdin.read())
    os.rename(f"{name}.script", f"{name}.ready")
    wait_for(f"{name}.status", 100_000)  # the script has its own time limit
    with open(f"{name}.output", encoding="utf-8", errors="replace") as file:
        print(file.read(), end="")
    with open(f"{name}.status", encoding="ascii") as file:
        return int(file.read())


if __name__ == "__main__":
    sys.exit(main())
