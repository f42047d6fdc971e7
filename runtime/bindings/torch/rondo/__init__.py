# SPDX-License-Identifier: Apache-2.0
"""Rondo: collective communication for PyTorch, with and without GPUs.

Nothing has to be imported to use it: torch.distributed.init_process_group("rondo").
"""
from rondo._build import TORCH_VERSION, VERSION as __version__

__all__ = ["CollectiveMismatch", "TORCH_VERSION", "__version__"]


def __getattr__(name):
    """rondo.CollectiveMismatch, a DistBackendError: raised if ranks disagree about a call."""
    if name == "CollectiveMismatch":
        from rondo.backend import native
        return native().CollectiveMismatch
    raise AttributeError(f"module 'rondo' has no attribute '{name}'")
