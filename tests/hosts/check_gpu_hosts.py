#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_gpu_hosts.py RONDO_PERF: ranks with a GPU each, of the stand-in for CUDA's driver: those of a host share
memory, and between hosts data goes through host memory."""
import unittest

from host_ranks import run_right
from network import main


class GpuHosts(unittest.TestCase):
    def test_two_hosts_of_two_gpus_are_right(self):
        for algorithm in ("", "all_reduce=double_binary_tree"):
            with self.subTest(algorithm=algorithm):
                run_right(self, 2, ["all", "--memory", "cuda", "-b", "8", "-e", "64K", "-f", "16", "-n", "2"],
                          own_gpus=True, RONDO_ALGORITHM=algorithm)


if __name__ == "__main__":
    main()
