"""PyTorch's own suite of tests for a backend of torch.distributed, as it lies in the wheel, made ready for one
backend.

The suite decides by the backend's name which tests run: most ask for a name on a list, some for one name only. So
there are three views. In the view NAMED the backend stands under its own name, as a plugin, on the lists that
plugins may join. In the view AS_GLOO the suite reads "gloo" wherever it looks for a name, and every process group
it makes is made with the backend in question: then the tests that are for Gloo alone run as well. AS_MPI is the
same with "mpi", for all-to-all between CPUs, which the suite tests with MPI alone.

Tests of a group of ranks 1 and 2 ask for 8 ranks before they run (with MPI: for none). Here they ask for the 3 that
they need.
"""
import functools
import os
import unittest

from ranks import ForkedRanks

NAMED, AS_GLOO, AS_MPI = "named", "as-gloo", "as-mpi"
READS = {AS_GLOO: "gloo", AS_MPI: "mpi"}  # the name that the suite reads

# In the place of another these would ask for a name that is not theirs; the view NAMED has them.
ABOUT_THE_NAME = {"test_get_backend"}

LISTS = ("plugin", "gpu", "cuda", "ddp", "subgroup")


def load(backend, view, ranks):
    """The suite's class for this number of ranks; to be called once in a process that has not imported the suite."""
    import torch.distributed as dist

    os.environ["WORLD_SIZE"] = str(ranks)
    os.environ["BACKEND"] = READS.get(view, backend)
    os.environ["INIT_METHOD"] = "file://"  # the kind is read now; each test names its own file
    from torch.testing._internal import common_distributed
    common_distributed.skip_if_small_worldsize = skip_below_three
    if view == NAMED:
        for name in LISTS:
            common_distributed.DistTestCases.backend_feature[name].add(backend)
    else:
        dist.init_process_group = with_backend(dist.init_process_group, READS[view], backend)
        dist.new_group = with_backend(dist.new_group, READS[view], backend)
    from torch.testing._internal.distributed import distributed_test as wheel
    # The profiler is to see the backend's calls as it sees Gloo's: "rondo:all_reduce".
    for names in (wheel.PROFILING_SUPPORTED_BACKENDS, wheel.SEND_RECV_PROFILING_SUPPORTED_BACKENDS):
        names.append(backend)

    class Suite(ForkedRanks, wheel.TestDistBackend, wheel.DistributedTest._DistTestBase):
        """Every test of the wheel, run by ranks that are forked."""

        def before_forking(self):
            wheel.INIT_METHOD = os.environ["INIT_METHOD"]  # a spawned rank would read it when it imports the suite

    for name in ABOUT_THE_NAME if view != NAMED else ():
        setattr(Suite, name, None)
    Suite.__name__ = Suite.__qualname__ = "TestDistBackendWithSpawn"  # as the tests' own messages call it
    return Suite


def belongs(view, name):
    """Whether the view is there for the test of this name."""
    return view != AS_MPI or "all_to_all" in name


def skip_below_three(test):
    """In the place of the suite's skip_if_small_worldsize."""
    @functools.wraps(test)
    def run(*arguments, **options):
        if int(os.environ["WORLD_SIZE"]) < 3:
            raise unittest.SkipTest("needs 3 ranks")
        return test(*arguments, **options)
    return run


def with_backend(function, name, backend):
    """The function, with `backend` where a caller says `name`."""
    @functools.wraps(function)
    def call(*arguments, **options):
        if options.get("backend") == name:
            options["backend"] = backend
        return function(*(backend if value == name else value for value in arguments), **options)
    return call
