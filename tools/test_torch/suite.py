# SPDX-License-Identifier: Apache-2.0
"""Adapts PyTorch's own test suite for torch.distributed backends, as contained in the wheel, to one backend.

The suite decides by the backend's name which tests run: most require a name on a list, some one particular name.
There are therefore three views. In the view NAMED the backend has its own name, as a plugin, on the lists that
plugins may join. In the view AS_GLOO the suite sees the name "gloo" everywhere, but every process group that it
creates uses the backend in question, so the tests that are only for Gloo run as well. AS_MPI is the
same with "mpi", for all-to-all between CPUs, which the suite tests only with MPI.

Tests of a group of ranks 1 and 2 require 8 ranks to run (with MPI: none). Here they require the 3 that they need.
"""
import functools
import os
import unittest

from ranks import ForkedRanks

NAMED, AS_GLOO, AS_MPI = "named", "as-gloo", "as-mpi"
READS = {AS_GLOO: "gloo", AS_MPI: "mpi"}  # the name that the suite sees

# Under another backend's name these would expect a name that is not theirs; the view NAMED runs them.
ABOUT_THE_NAME = {"test_get_backend"}

LISTS = ("plugin", "gpu", "cuda", "ddp", "subgroup")


def load(backend, view, ranks):
    """Returns the suite's class for this number of ranks. Call once, in a process that has not imported the suite."""
    import torch.distributed as dist

    os.environ["WORLD_SIZE"] = str(ranks)
    os.environ["BACKEND"] = READS.get(view, backend)
    os.environ["INIT_METHOD"] = "file://"  # only the kind is read now; each test names its own file
    from torch.testing._internal import common_distributed
    common_distributed.skip_if_small_worldsize = skip_below_three
    if view == NAMED:
        for name in LISTS:
            common_distributed.DistTestCases.backend_feature[name].add(backend)
    else:
        dist.init_process_group = with_backend(dist.init_process_group, READS[view], backend)
        dist.new_group = with_backend(dist.new_group, READS[view], backend)
    from torch.testing._internal.distributed import distributed_test as wheel
    # The profiler must see the backend's calls as it sees Gloo's: "rondo:all_reduce".
    for names in (wheel.PROFILING_SUPPORTED_BACKENDS, wheel.SEND_RECV_PROFILING_SUPPORTED_BACKENDS):
        names.append(backend)

    class Suite(ForkedRanks, wheel.TestDistBackend, wheel.DistributedTest._DistTestBase):
        """Every test of the wheel, run by forked ranks."""

        def before_forking(self):
            wheel.INIT_METHOD = os.environ["INIT_METHOD"]  # a spawned rank would read it on importing the suite

    for name in ABOUT_THE_NAME if view != NAMED else ():
        setattr(Suite, name, None)
    Suite.__name__ = Suite.__qualname__ = "TestDistBackendWithSpawn"  # the name in the tests' own messages
    return Suite


def belongs(view, name):
    """Whether the view includes the test of this name."""
    return view != AS_MPI or "all_to_all" in name


def skip_below_three(test):
    """Replaces the suite's skip_if_small_worldsize."""
    @functools.wraps(test)
    def run(*arguments, **options):
        if int(os.environ["WORLD_SIZE"]) < 3:
            raise unittest.SkipTest("needs 3 ranks")
        return test(*arguments, **options)
    return run


def with_backend(function, name, backend):
    """Wraps the function so that it gets `backend` where a caller passes `name`."""
    @functools.wraps(function)
    def call(*arguments, **options):
        if options.get("backend") == name:
            options["backend"] = backend
        return function(*(backend if value == name else value for value in arguments), **options)
    return call
