# SPDX-License-Identifier: Apache-2.0
"""rondo-plan as tests run it; takes the arguments of the test's program: RONDO_PLAN, SOURCE-ROOT and SANITIZERS."""
import os
import re
import subprocess
import sys

PLAN = sys.argv.pop(1)
SOURCE = sys.argv.pop(1)
SANITIZED = sys.argv.pop(1) != "none"
DATA = os.environ.get("RONDO_TEST_DATA")


def plan(*arguments):
    return subprocess.run([PLAN, *arguments], capture_output=True, text=True, timeout=60)


def output(*arguments):
    result = plan(*arguments)
    if result.returncode != 0:
        raise AssertionError(f"rondo-plan {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def algorithms(collective):
    """The names of the collective's algorithms in the table."""
    refusal = plan("verify", f"{collective}=none").stderr
    return re.search(r"it has: (\w+(?:, \w+)*)", refusal)[1].split(", ")
