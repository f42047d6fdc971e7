# SPDX-License-Identifier: Apache-2.0
"""How tests in Python wait for what processes do, and say how many cases have passed."""
import sys
import time
import unittest

LIMIT_S = 60


class WaitingCase(unittest.TestCase):
    def awaited(self, condition, look):
        """What `look` finds once it satisfies `condition`. A process that ends breaks off what it says."""
        until, found = time.monotonic() + LIMIT_S, None
        while time.monotonic() < until:
            try:
                if condition(found := look()):
                    return found
            except ConnectionError:
                pass
            time.sleep(0.05)
        return self.fail(f"in vain: {found}")


def run_cases():
    """Runs the cases of the program. Its last line counts them, for tools/test."""
    result = unittest.main(exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed" + (f", {skipped} skipped" if skipped else ""),
          flush=True)
    sys.exit(1 if wrong else 0)
