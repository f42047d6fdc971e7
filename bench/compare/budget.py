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
        """Of one of so many turns: what the others before it did not use is shared by those after them."""
        return self.left() / turns
