# SPDX-License-Identifier: Apache-2.0
"""Gloo as a peer, through torch.distributed."""
import os

import torch_peer
from jobs import MESSAGES

DRIVER = os.path.join(torch_peer.HERE, "gloo_driver.py")


def find(name, workshop):
    python, version = torch_peer.interpreter(workshop.arguments)
    return torch_peer.contestant(name, f"Gloo of PyTorch {version}", [python, DRIVER], refusal)


def refusal(sweep):
    return f"gloo_driver.py does not time {sweep.collective}" if sweep.collective in MESSAGES else None
