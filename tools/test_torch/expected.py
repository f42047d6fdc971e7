"""Tests of PyTorch's suite that a backend cannot pass, each with the reason. One that passes after all is an error, so
that the table stays short."""

# For every backend that is not built into PyTorch.
OF_PLUGINS = {
    "test_ddp_logging_data_cpu":
        "PyTorch's C++ code knows the names of built-in backends only, and logs any other as 'custom'",
}


def expected_failures(backend):
    """name -> reason"""
    return {} if backend in ("gloo", "nccl", "mpi", "ucc") else OF_PLUGINS
