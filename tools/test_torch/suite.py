"""PyTorch's own suite of tests for a backend of torch.distributed, as it lies in the wheel, made ready for one backend.

The suite decides by the backend's name which tests run: most ask for a name on a list, some for "gloo" itself. So there
are two views. In the view NAMED the backend stands under its own name, as a plugin, on the lists that plugins may join.
In the view AS_GLOO the suite reads "gloo" wherever it looks for a name, and every process group that it makes is made with
the backend in question: then the tests that are for Gloo alone run as well.
"""
import functools
import os

from ranks import ForkedRanks

NAMED, AS_GLOO = "named", "as-gloo"

# In the view AS_GLOO these would ask for a name that is not theirs; the view NAMED has them.
ABOUT_THE_NAME = {"test_get_backend"}

LISTS = ("plugin", "gpu", "cuda", "ddp", "subgroup")


def load(backend, view, ranks):
    """The suite's class for this number of ranks; to be called once in a process that has not imported the suite."""
    import torch.distributed as dist

    os.environ["WORLD_SIZE"] = str(ranks)
    os.environ["BACKEND"] = "gloo" if view == AS_GLOO else backend
    os.environ["INIT_METHOD"] = "file://"  # the kind is read now; each test names its own file
    from torch.testing._internal import common_distributed
    if view == NAMED:
        for name in LISTS:
            common_distributed.DistTestCases.backend_feature[name].add(backend)
    if view == AS_GLOO:
        dist.init_process_group = with_backend(dist.init_process_group, backend)
        dist.new_group = with_backend(dist.new_group, backend)
    from torch.testing._internal.distributed import distributed_test as wheel

    class Suite(ForkedRanks, wheel.TestDistBackend, wheel.DistributedTest._DistTestBase):
        """Every test of the wheel, run by ranks that are forked."""

        def before_forking(self):
            wheel.INIT_METHOD = os.environ["INIT_METHOD"]  # a spawned rank would read it when it imports the suite

    for name in ABOUT_THE_NAME if view == AS_GLOO else ():
        setattr(Suite, name, None)
    Suite.__name__ = Suite.__qualname__ = "TestDistBackendWithSpawn"  # as the tests' own messages call it
    return Suite


def with_backend(function, backend):
    """The function, with `backend` in the place of "gloo"."""
    @functools.wraps(function)
    def call(*arguments, **options):
        if options.get("backend") == "gloo":
            options["backend"] = backend
        return function(*(backend if value == "gloo" else value for value in arguments), **options)
    return call
