# SPDX-License-Identifier: Apache-2.0
"""The time that a whole run may take."""
import time


class Budget:
    def __init__(self, minutes, clock=time.monotonic):
        self.clock = clock
        self.end = clock() + 60 * minutes

    def left(self):
        """Seconds."""
        return max(0.0, self.end - self.clock())

    def is_over(self):
        return self.left() == 0

    def share(self, turns):
        """The time for the next of `turns` turns; time that earlier turns did not use is shared by the later ones."""
        return self.left() / turns
