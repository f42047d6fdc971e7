# SPDX-License-Identifier: Apache-2.0
"""rondo-topo as tests run it; takes the arguments of the test's program: RONDO_TOPO, SOURCE-ROOT and
STANDIN_NVML."""
import os
import subprocess
import sys
import unittest

TOPO = sys.argv.pop(1)
SOURCE = sys.argv.pop(1)
NVML = sys.argv.pop(1)
DATA = os.environ.get("RONDO_TEST_DATA")


def topo(*arguments, **variables):
    """Runs it with these variables in its environment."""
    return subprocess.run([TOPO, *arguments], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **variables})


def output(*arguments, **variables):
    result = topo(*arguments, **variables)
    if result.returncode != 0:
        raise AssertionError(f"rondo-topo {' '.join(arguments)}: exit code {result.returncode}\n{result.stderr}")
    return result.stdout


def known():
    return [line.split()[0] for line in output("--list").splitlines()]


def recorded(name, test):
    """The path of a recorded machine; without RONDO_TEST_DATA the test is skipped, and says so."""
    if DATA is None:
        print(f"skipped: {test}, since RONDO_TEST_DATA is not set")
        raise unittest.SkipTest("RONDO_TEST_DATA is not set")
    return f"{DATA}/topologies/{name}.xml"
