# SPDX-License-Identifier: Apache-2.0
"""bench/compare, whose modules tests import after this one; takes the first argument of the test's program:
SOURCE_ROOT."""
import os
import sys

ROOT = sys.argv.pop(1)
FOLDER = os.path.join(ROOT, "bench/compare")
PROGRAM = os.path.join(FOLDER, "compare.py")
sys.path[:0] = [FOLDER, os.path.join(ROOT, "bench/common")]


def options_for(*words):
    """What bench/compare makes of these options, where any program passes for rondo-perf."""
    import options
    return options.parse("", ["--perf", sys.executable, *words])
