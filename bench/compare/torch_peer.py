# SPDX-License-Identifier: Apache-2.0
"""What peers have in common that run in an interpreter with PyTorch."""
import functools
import os
import shutil

import processes
from contestant import Contestant, Missing, Turn

HERE = os.path.dirname(os.path.abspath(__file__))
ASK = "import torch; assert torch.distributed.is_gloo_available(); print(torch.__version__)"
IMPORT_SECONDS = 120


def interpreter(arguments):
    """The interpreter, and the version of its PyTorch, which has Gloo."""
    python = arguments.torch_python
    if not python:
        raise Missing("no interpreter with PyTorch is given; set --torch-python or RONDO_TORCH_PYTHON")
    if shutil.which(python) is None:
        raise Missing(f"there is no program {python}, which RONDO_TORCH_PYTHON names")
    return python, torch_version(python)


@functools.lru_cache
def torch_version(python):
    outcome = processes.run([python, "-c", ASK], timeout=IMPORT_SECONDS)
    if outcome.fault:
        raise Missing(outcome.fault)
    return outcome.printed.strip()


def contestant(name, version, command, refusal):
    """`command` runs the driver, with its own arguments; `refusal(sweep)` says why it cannot time this, or None."""
    def run(job):
        if refusal(job.sweep):
            return Turn({}, refusal(job.sweep))
        return Turn.of_driver(processes.run([*command, str(job.sweep.ranks), job.bind, *job.driver_arguments()],
                                            timeout=job.timeout))

    return Contestant(name, version, run)
