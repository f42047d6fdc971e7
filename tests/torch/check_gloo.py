# SPDX-License-Identifier: Apache-2.0
"""The collectives of bench/compare's Gloo driver: each is right, and is found wrong if it does nothing."""
import os
import sys
import unittest

import torch
import torch.distributed as dist

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/compare")
RANKS, ELEMENTS = 3, 60


def check_all(rank):
    import gloo_calls
    dist.init_process_group("gloo")
    for kind in torch.float32, torch.bfloat16:
        send, recv = torch.zeros(ELEMENTS, dtype=kind), torch.zeros(ELEMENTS, dtype=kind)
        for name in gloo_calls.CALLS:
            side = gloo_calls.Side(name, rank, RANKS, ELEMENTS, send, recv, False)
            assert side.count_wrong() == 0, name
            side.call = lambda: None
            looks = 0 if name in gloo_calls.RESULT_AT_ROOT else RANKS - 1
            assert rank != looks or name == "barrier" or side.count_wrong() > 0, name


class Collectives(unittest.TestCase):
    def test_every_one(self):
        import ranks
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        self.assertEqual(ranks.start("none", RANKS, check_all), 0)


sys.path.insert(0, FOLDER)
if __name__ == "__main__":
    unittest.main(verbosity=2)
