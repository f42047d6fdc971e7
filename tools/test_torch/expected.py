# SPDX-License-Identifier: Apache-2.0
"""Tests of PyTorch's suite that a backend cannot pass, each with the reason. One that does pass is an error, so
that the table stays short."""

# For every backend that is not built into PyTorch: name -> (the first version in which it passes, the reason)
OF_PLUGINS = {
    "test_ddp_logging_data_cpu":
        (None, "PyTorch's C++ code knows the names of built-in backends only, and logs any other as 'custom'"),
    "test_barrier_timeout_arg":
        (None, "expects the exact wording of Gloo's timeout; PyTorch 2.11 does not have it, and 2.13 skips it"),
    **{"test_monitored_barrier_" + name: ((2, 14), "dist.monitored_barrier() is for Gloo alone before PyTorch 2.14")
       for name in ("gloo", "gloo_subgroup", "failure_order", "wait_all_ranks")},
}


def expected_failures(backend, torch_version):
    """Returns name -> reason."""
    if backend in ("gloo", "nccl", "mpi", "ucc"):
        return {}
    return {name: reason for name, (passes_from, reason) in OF_PLUGINS.items()
            if passes_from is None or torch_version < passes_from}
