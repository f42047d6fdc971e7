# SPDX-License-Identifier: Apache-2.0
"""Libraries for inference on CPUs as peers: each has an operator of PyTorch, an all_reduce through shared memory."""
import importlib.metadata
import os

import torch_peer
from contestant import Missing
from jobs import Sweep, job_of

DRIVER = os.path.join(torch_peer.HERE, "ops_driver.py")
TYPES = ("float", "half", "bfloat16")
PROBE_BYTES = 64


def find(name, distribution, workshop):
    arguments = workshop.arguments
    folder = os.path.join(arguments.ops_folder, name)
    found = next(iter(importlib.metadata.distributions(name=distribution, path=[folder])), None)
    if found is None:
        raise Missing(f"there is no {distribution} in {folder}; bench/compare/install_ops.py installs it")
    if arguments.type not in TYPES:
        raise Missing(f"its all_reduce has no {arguments.type}, only {', '.join(TYPES)}")
    python, torch_version = torch_peer.interpreter(arguments)
    version = f"{distribution} {found.version} with PyTorch {torch_version}"
    peer = torch_peer.contestant(name, version, [python, DRIVER, name, folder], refusal)
    probe(peer, arguments)
    return peer


def refusal(sweep):
    if sweep.collective != "all_reduce":
        return f"ops_driver.py times all_reduce, not {sweep.collective}"
    return None if sweep.transport == "shm" else "it reduces through shared memory only"


def probe(peer, arguments):
    """A small run shows that the operator works with this PyTorch and on this CPU."""
    turn = peer.run(job_of(Sweep("shm", "all_reduce", 2), [PROBE_BYTES], arguments, arguments.timeout))
    if turn.fault:
        raise Missing(turn.fault)
