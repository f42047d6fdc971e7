# SPDX-License-Identifier: Apache-2.0
"""Provides torch.distributed with the backend "rondo", and with "gloo" on request. Called by torch, through entry
points."""
import functools
import importlib
import importlib.util
import os
import pathlib
import sysconfig

from rondo._build import TORCH_VERSION

OLDEST = (2, 11)
# Since this version torch looks a backend up when it is requested, so importing torch need not load anything.
FOUND_BY_NAME = (2, 14)


def minor(version):
    """(2, 15) of "2.15.0+cpu"."""
    return tuple(int(part) for part in version.split("+")[0].split(".")[:2])


def module_name(torch):
    """Of the C++ extension for a version of torch. A package may have more than one."""
    return "_torch_{}_{}".format(*minor(torch))


def check_torch(installed):
    """Raises ImportError unless this build of Rondo matches the installed torch, and this Python."""
    again = "run 'pip install --force-reinstall --no-deps .' in Rondo's tree"
    if not TORCH_VERSION:
        raise ImportError(f"rondo was built without torch, but torch {installed} is now installed: {again}")
    if minor(installed) < OLDEST:
        raise ImportError(f"rondo needs torch {OLDEST[0]}.{OLDEST[1]} or later, and torch {installed} is installed")
    if minor(installed) not in map(minor, TORCH_VERSION.split(", ")):
        raise ImportError(f"rondo was built for torch {TORCH_VERSION}, and torch {installed} is installed: {again}")
    name = module_name(installed)
    if importlib.util.find_spec(f"rondo.{name}") is None:
        files = sorted(path.name for path in pathlib.Path(__file__).parent.glob(f"{name}.*"))
        raise ImportError(f"rondo was not built for torch {installed} under this Python: the package has "
                          f"{', '.join(files) or 'nothing'} in place of "
                          f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}: {again}")


@functools.cache
def native():
    """The C++ extension. At process exit it leaves all groups that were not destroyed, so that their other ranks, which
    may be a moment behind, do not mistake the exit for a death."""
    import multiprocessing.util

    import torch
    check_torch(torch.__version__)
    module = importlib.import_module(f"rondo.{module_name(torch.__version__)}")
    multiprocessing.util.Finalize(None, module.shut_down_all, exitpriority=0)
    return module


def lends_tensors():
    """Whether peers are to read tensors on the CPU in place. By default not where there are GPUs: tensors that a
    program has pinned for these must stay where they are when it forks."""
    wanted = os.environ.get("RONDO_LEND_TENSORS", "")
    if wanted not in ("", "0", "1"):
        raise ValueError(f"RONDO_LEND_TENSORS is '{wanted}': it must be 0 or 1, or not set")
    import torch
    return wanted == "1" or not (wanted or torch.cuda.is_available())


def create(options, _group_options=None):
    """A process group's backend; returns once all ranks have joined."""
    lends = lends_tensors()
    made = native().ProcessGroupRondo(store=options.store, rank=options.group_rank, size=options.group_size,
                                      timeout=options.timeout, group=options.group_id,
                                      global_ranks=list(options.global_ranks_in_group))
    if lends and made.shares_memory():
        native().lend_tensors()
    return made


def register():
    """Registers "rondo" with torch.distributed."""
    import torch.distributed as dist
    if "RONDO" not in dist.Backend._plugins:
        dist.Backend.register_backend("rondo", create, extended_api=True, devices=["cpu", "cuda"])


def serve_gloo():
    """Takes the name "gloo", before torch first looks it up: groups of that name are Rondo's from then on."""
    import torch
    from torch.distributed import distributed_c10d
    if not hasattr(distributed_c10d, "_register_builtin_gloo_backend"):
        raise ImportError("RONDO_SERVE=gloo needs a torch that looks Gloo up by its name, such as 2.15: "
                          f"torch {torch.__version__} is installed")
    distributed_c10d.Backend.register_backend("gloo", create, extended_api=True, devices=["cpu", "cuda"])
    # Gloo records its own calls in torch's flight recorder; those of other backends are recorded by torch.
    getattr(distributed_c10d, "_FR_SELF_RECORDING_BACKENDS", set()).discard("gloo")


def autoload():
    """Runs when torch is imported."""
    import torch
    served = os.environ.get("RONDO_SERVE", "")
    if served not in ("", "gloo"):
        raise ImportError(f"RONDO_SERVE is '{served}': it must be gloo, or not set")
    if not torch.distributed.is_available():
        return
    if served:
        serve_gloo()
    if minor(torch.__version__) < FOUND_BY_NAME:
        register()
