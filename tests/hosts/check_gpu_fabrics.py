#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_gpu_fabrics.py RONDO_PERF: messages of GPUs between hosts over the stand-in for libibverbs."""
import re

from fabric_case import FabricCase
from host_ranks import fabric_warnings
from network import main


class GpuFabrics(FabricCase):
    def check_path(self, expected, calls="all_reduce,all_to_all,sendrecv", up_to="512K", **variables):
        """Every GPU's messages go where this says; host code that touches memory of a GPU is ended by the stand-in."""
        log, used = self.run_perf((calls, "--memory", "cuda", "-e", up_to), own_gpus=True,
                                  **{"RONDO_STANDIN_GUARD": "1", **variables})
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        paths = re.findall(r"messages between GPU \d and rank \d (.*)", log)
        self.assertTrue(paths, log)
        for path in paths:
            self.assertRegex(path, expected)
        return log

    def test_messages_of_gpus_near_a_port_pass_through_their_memory(self):
        log = self.check_path("^pass through memory of the GPU$", gpus_of_nics=[range(4)])
        self.assertRegex(log, r"\d+ bytes of a GPU are registered with rondo_0 by a dmabuf")

    def test_other_gpus_are_told_why_theirs_do_not(self):
        for variables, expected in (
                ({}, r"of the host: rondo_0:1 is not below the same PCI root as the GPU \(RONDO_IB_GPU_DIRECT=1 uses"),
                ({"RONDO_IB_GPU_DIRECT": "0"}, r"of the host: RONDO_IB_GPU_DIRECT is 0"),
                ({"RONDO_IB_GPU_DIRECT": "1", "RONDO_STANDIN_RDMA": "none"}, r"of the host: GPU \d has no GPUDirect"),
                ({"RONDO_IB_GPU_DIRECT": "1", "DMABUF": "0"}, r"of the host: its memory was not registered"),
                ({"RONDO_IB_GPU_DIRECT": "1", "DMABUF": "0", "RONDO_IB_ODP": "1"}, "of the host: its memory was not"),
                ({"RONDO_IB_GPU_DIRECT": "1", "RONDO_SLOT_BYTES": "8K"}, "of the host: slots of 8192 bytes are short")):
            log = self.check_path(expected, calls="all_reduce", up_to="4K", RONDO_STANDIN_GUARD="0", **variables)
            if "DMABUF" in variables:
                self.assertRegex(log, r"registering \d+ bytes of a GPU with rondo_0: ibv_reg_dmabuf_mr: Operation not "
                                      r"supported; without a dmabuf: Bad address \(is nvidia-peermem loaded\?\)")

    def test_gpus_that_use_tcp_after_all_are_told_so(self):
        log, used = self.run_perf(("all_reduce", "--memory", "cuda", "-e", "64K"), own_gpus=True,
                                  RONDO_IB_GPU_DIRECT="1", GIDS="v2 10.9.%p.%h lo", AT="0 drop 10.9.1.1 10.9.1.2")
        self.assertTrue(any("tcp" in row for row in used), log)
        self.assertRegex(log, r"GPU \d and rank \d pass through memory of the host: the transport does not reach it")

    def test_without_dmabufs_nvidia_peermem_is_enough(self):
        log = self.check_path("^pass through memory of the GPU$", RONDO_IB_GPU_DIRECT="1", RONDO_STANDIN_DMABUF="0",
                              RONDO_STANDIN_RDMA="flushed", RONDO_STANDIN_SEED="1", HOLD="1", PEERMEM="1")
        self.assertRegex(log, r"of a GPU are registered with rondo_0 by nvidia-peermem: CUDA's driver gives no dmabuf")

    def test_writes_are_flushed_as_gpus_need_it(self):
        """With HOLD what is not flushed never comes."""
        for rdma in ("flushed", "unordered"):
            self.check_path("^pass through memory of the GPU$", gpus_of_nics=[range(4)], RONDO_STANDIN_RDMA=rdma,
                            HOLD="1")

    def test_a_port_that_fails_costs_copies_and_nothing_else(self):
        log, used = self.run_perf(("all_reduce,all_to_all", "--memory", "cuda", "-e", "512K"), own_gpus=True,
                                  command="port_down 0/rondo_0:1", RONDO_STANDIN_GUARD="1", RONDO_IB_GPU_DIRECT="1")
        self.assertNotIn("failed", used, log)
        self.assertIn("pass through memory of the GPU", log)
        self.assertRegex("".join(fabric_warnings(log)), r"rank \d.* is reached by tcp: ")

    def test_ranks_carry_as_much_between_hosts_as_the_cards_near_their_gpus_allow(self):
        """Of both hosts: two GPUs near one card, a third near another."""
        near = {"own_gpus": True, "ranks_a_host": 3, "DEVICES": "roce:1:10,roce:1:10", "RONDO_STANDIN_DEVICES": "6"}
        log = self.run_shares("--memory", "cuda", gpus_of_nics=[(0, 1, 3, 4), (2, 5)], **near)
        self.assertEqual(log.count("the ranks of a host carry 1:1:2 parts of a vector between hosts"), 1, log)
        log, _ = self.run_perf(("all_reduce", "--memory", "cuda", "-e", "4K"), gpus_of_nics=[range(6), ()], **near)
        self.assertNotIn("the ranks of a host carry", log)

    def test_messages_of_gpus_leave_from_memory_that_gpus_fill(self):
        log, used = self.run_perf(("all_reduce,all_to_all,sendrecv", "--memory", "cuda", "-e", "64K"), own_gpus=True,
                                  of_hosts=({"RONDO_LOG": "debug"}, {"RONDO_LOG": "debug"}))
        self.assertEqual(fabric_warnings(log), [])
        self.assertIn("verbs", "".join(used), log)
        self.assertRegex(log, r"messages from \d+ bytes of registered memory leave from where they are")


if __name__ == "__main__":
    main()
