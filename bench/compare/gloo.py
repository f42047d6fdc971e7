# SPDX-License-Identifier: Apache-2.0
"""Gloo as a peer, through torch.distributed."""
import os
import shutil

import processes
from contestant import Contestant, Missing, Turn
from jobs import MESSAGES

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gloo_driver.py")
ASK = "import torch; assert torch.distributed.is_gloo_available(); print(torch.__version__)"
IMPORT_SECONDS = 120


def find(name, workshop):
    python = workshop.arguments.torch_python
    if not python:
        raise Missing("no interpreter with PyTorch is given; set --torch-python or RONDO_TORCH_PYTHON")
    if shutil.which(python) is None:
        raise Missing(f"there is no program {python}, which RONDO_TORCH_PYTHON names")
    outcome = processes.run([python, "-c", ASK], timeout=IMPORT_SECONDS)
    if outcome.fault:
        raise Missing(outcome.fault)

    def run(job):
        if job.sweep.collective in MESSAGES:
            return Turn({}, f"gloo_driver.py does not time {job.sweep.collective}")
        command = [python, DRIVER, str(job.sweep.ranks), job.bind, *job.driver_arguments()]
        return Turn.of_driver(processes.run(command, timeout=job.timeout))

    return Contestant(name, f"Gloo of PyTorch {outcome.printed.strip()}", run)
