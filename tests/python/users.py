# SPDX-License-Identifier: Apache-2.0
"""How users start Python. Tests of the package are skipped in builds with sanitizers."""
import os
import pathlib
import sys

if os.environ.get("RONDO_TEST_SANITIZED"):
    print("skipped: a sanitizer's library would have to be loaded before Python")
    sys.exit(77)

TREE = pathlib.Path(__file__).parents[2]
LAUNCHED = ("RANK", "WORLD_SIZE", "LOCAL_", "MASTER_", "OMPI_", "PMI", "SLURM_")


def environment(**variables):
    """That of a shell which no launcher started, with these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHED)}
    return {**kept, **variables}
