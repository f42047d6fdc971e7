# SPDX-License-Identifier: Apache-2.0
"""The ranks forked by tools/test-torch: one that crashes or hangs fails its test in bounded time. Needs torch."""
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/test_torch"))

import team  # noqa: E402
from outcome import FAILED, PASSED, SKIPPED  # noqa: E402
from ranks import ForkedRanks  # noqa: E402


def made_up_suite():
    from torch.testing._internal.common_distributed import TEST_SKIPS, MultiProcessTestCase

    class Suite(ForkedRanks, MultiProcessTestCase):
        """Ranks without any process group."""
        world_size = 3
        destroy_pg_upon_exit = False

        def test_1_passes(self):
            pass

        def test_2_rank_1_raises_and_the_others_wait(self):
            if self.rank == 1:
                raise ValueError("what rank 1 said")
            time.sleep(1000)

        def test_3_rank_2_dies(self):
            if self.rank == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        def test_4_rank_2_hangs(self):
            if self.rank == 2:
                time.sleep(1000)

        def test_5_rank_1_ends_in_another_way(self):
            if self.rank == 1:
                os._exit(3)

        def test_6_is_skipped_by_the_ranks(self):
            sys.exit(TEST_SKIPS["no_cuda"].exit_code)

        def test_7_passes_after_all_that(self):
            pass
    return Suite


class Ranks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch.distributed  # noqa: F401  (once, for all forked processes)
        started = time.monotonic()
        cls.outcomes = team.run_tests(made_up_suite, list, 5)
        cls.seconds = time.monotonic() - started

    def test_outcomes(self):
        self.assertEqual([one.outcome for one in self.outcomes],
                         [PASSED, FAILED, FAILED, FAILED, FAILED, SKIPPED, PASSED],
                         "\n".join(f"{one.name}: {one.words}" for one in self.outcomes))

    def test_reasons(self):
        for number, words in ((2, "ValueError: what rank 1 said"), (3, "rank 2 by SIGKILL"), (4, "rank 2 did not end"),
                              (5, "exit codes [0, 3, 0]")):
            with self.subTest(number=number):
                self.assertIn(words, self.outcomes[number - 1].reason())

    def test_time(self):
        self.assertLess(self.seconds, 60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
