# SPDX-License-Identifier: Apache-2.0
"""Rondo: collective communication between processes, threads and hosts, with and without GPUs.

    import rondo
    with rondo.init() as comm:        # rank and size from the launcher's environment
        comm.all_reduce(array)        # numpy, jax, cupy, torch, array.array, bytearray ...

For PyTorch nothing has to be imported: torch.distributed.init_process_group("rondo").
"""
from rondo._arrays import View, view
from rondo._build import TORCH_VERSION, VERSION as __version__
from rondo._comm import NO_COLOR, Comm, init, init_all, init_rank, unique_id, write_flight_file
from rondo._lent_arrays import LentArrays, lend_arrays
from rondo._messages import ANY_SOURCE, ANY_TAG, Receipt, Request
from rondo._prepared import Prepared
from rondo.errors import (Aborted, InternalError, InvalidArgument, InvalidUsage, Mismatch, OutOfMemory, RemoteError,
                          RondoError, SystemFailure, Timeout, Unsupported)

__all__ = ["ANY_SOURCE", "ANY_TAG", "Aborted", "Comm", "InternalError", "InvalidArgument", "InvalidUsage",
           "LentArrays", "Mismatch", "NO_COLOR", "OutOfMemory", "Prepared", "Receipt", "RemoteError", "Request",
           "RondoError", "SystemFailure", "TORCH_VERSION", "Timeout", "Unsupported", "View", "__version__", "init",
           "init_all", "init_rank", "lend_arrays", "unique_id", "view", "write_flight_file"]


def __getattr__(name):
    """rondo.CollectiveMismatch, a DistBackendError: PyTorch's backend raises it if ranks disagree about a call."""
    if name == "CollectiveMismatch":
        from rondo.backend import native
        try:
            return native().CollectiveMismatch
        except ImportError as error:
            raise AttributeError(f"rondo.CollectiveMismatch is part of PyTorch's backend: {error}") from error
    raise AttributeError(f"module 'rondo' has no attribute '{name}'")
