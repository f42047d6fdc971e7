# SPDX-License-Identifier: Apache-2.0
"""The contestants: Rondo with each of its algorithms, Open MPI and Gloo. A contestant is a function of a Job that
returns an Answer, or None if it does not serve that many ranks."""
import os
import re
import shutil
from dataclasses import dataclass
from typing import Optional

import mpi
import processes
from contestant import Missing

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE_SECONDS, RUN_SECONDS = 120, 300
UNSUPPORTED = 4  # exit code of rondo-sums
ROUNDINGS = re.compile(r"^roundings of an operand to \w+: at most (\d+)$", re.M)


@dataclass(frozen=True)
class Job:
    type: str
    ranks: int
    count: int
    source: str  # files
    result: str

    def words(self):
        return [self.type, str(self.ranks), str(self.count), self.source, self.result]


@dataclass(frozen=True)
class Answer:
    fault: Optional[str] = None  # why there is no result
    roundings: Optional[int] = None  # the maximum that an operand goes through; None: not known


def run(command):
    return Answer(processes.run(command, timeout=RUN_SECONDS).fault)


def algorithms_of_rondo(sums):
    """Returns a contestant for each of Rondo's algorithms, by name."""
    listed = processes.run([sums, "list"], timeout=PROBE_SECONDS)
    if listed.fault:
        raise Missing(listed.fault)
    return {name: lambda job, name=name: by_algorithm(sums, job, name) for name in listed.printed.split()}


def group_of(ranks):
    """The group size for two-level algorithms; 1 if this number of ranks forms no groups."""
    return next((length for length in range(2, ranks) if ranks % length == 0), 1)


def by_algorithm(sums, job, name):
    outcome = processes.run([sums, *job.words(), name], {"RONDO_GROUP": str(group_of(job.ranks))}, RUN_SECONDS)
    if outcome.code == UNSUPPORTED:
        return None
    said = ROUNDINGS.search(outcome.printed)
    if said is None:
        return Answer(outcome.fault or "rondo-sums does not say how often an operand is rounded")
    return Answer(outcome.fault, int(said[1]))


def open_mpi(folder):
    compiler = next(filter(None, map(shutil.which, mpi.OpenMpi.compilers)), None)
    if compiler is None:
        raise Missing(f"there is no {mpi.OpenMpi.compilers[0]}; Debian has it in {mpi.OpenMpi.packages}")
    launcher, _ = mpi.find_launcher(mpi.OpenMpi)
    program = os.path.join(folder, "mpi_sums")
    fault = run([compiler, "-O2", "-o", program, os.path.join(HERE, "mpi_sums.c")]).fault
    if fault:
        raise Missing(fault)
    options = ["--oversubscribe", *(["--allow-run-as-root"] if os.geteuid() == 0 else [])]

    def contest(job):
        if job.type != "float":
            return Answer(f"MPI has no {job.type}")
        return run([launcher, *options, "-np", str(job.ranks), program, *job.words()[2:]])

    return contest


def gloo(python):
    if not python:
        raise Missing("no interpreter with PyTorch is given; set --torch-python or RONDO_TORCH_PYTHON")
    if shutil.which(python) is None:
        raise Missing(f"there is no program {python}")
    fault = processes.run([python, "-c", "import torch.distributed"], timeout=PROBE_SECONDS).fault
    if fault:
        raise Missing(fault)
    return lambda job: run([python, os.path.join(HERE, "gloo_sums.py"), *job.words()])
