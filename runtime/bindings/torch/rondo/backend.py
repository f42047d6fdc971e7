# SPDX-License-Identifier: Apache-2.0
"""Provides torch.distributed with the backend "rondo". Called by torch, through entry points."""
import functools

from rondo._build import TORCH_VERSION

OLDEST = (2, 11)
# Since this version torch looks a backend up when it is requested, so importing torch need not load anything.
FOUND_BY_NAME = (2, 14)


def minor(version):
    """(2, 15) of "2.15.0+cpu"."""
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2])


def check_torch(installed):
    """Raises ImportError unless this build of Rondo matches the installed torch."""
    again = "run 'pip install --force-reinstall --no-deps .' in Rondo's tree"
    if not TORCH_VERSION:
        raise ImportError(f"rondo was built without torch, but torch {installed} is now installed: {again}")
    if minor(installed) < OLDEST:
        raise ImportError(f"rondo needs torch {OLDEST[0]}.{OLDEST[1]} or later, and torch {installed} is installed")
    if minor(installed) != minor(TORCH_VERSION):
        raise ImportError(f"rondo was built for torch {TORCH_VERSION}, and torch {installed} is installed: {again}")


@functools.cache
def native():
    """The C++ extension. At process exit it leaves all groups that were not destroyed, so that their other ranks, which
    may be a moment behind, do not mistake the exit for a death."""
    import multiprocessing.util

    import torch
    check_torch(torch.__version__)
    from rondo import _torch
    multiprocessing.util.Finalize(None, _torch.shut_down_all, exitpriority=0)
    return _torch


def create(options, _group_options=None):
    """A process group's backend; returns once all ranks have joined."""
    return native().ProcessGroupRondo(store=options.store, rank=options.group_rank, size=options.group_size,
                                      timeout=options.timeout, group=options.group_id)


def register():
    """Registers "rondo" with torch.distributed."""
    import torch.distributed as dist
    if "RONDO" not in dist.Backend._plugins:
        dist.Backend.register_backend("rondo", create, extended_api=True, devices=["cpu", "cuda"])


def autoload():
    """Runs when torch is imported."""
    import torch
    if minor(torch.__version__) < FOUND_BY_NAME and torch.distributed.is_available():
        register()
