# SPDX-License-Identifier: Apache-2.0
"""The outcomes of tests, and their counts."""
import re
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LEFT_OUT = "by its decorator"  # and therefore not even attempted

# The line that names the error: the last line of a Python traceback. C++ appends its own stack after it.
REASON = re.compile(r"^(?!Exception raised from )(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b:? .*$", re.M)
FRAME = re.compile(r"^\s*(?:File |frame #|#\d+ |C\+\+ CapturedTraceback|Traceback )")


@dataclass
class Outcome:
    """The outcome of one test."""
    name: str
    outcome: str
    seconds: float = 0.0
    words: str = ""

    def reason(self):
        """Returns the error in one line."""
        found = REASON.findall(self.words)
        nested = [line for line in found if not line.startswith("RuntimeError: Process ")]
        if nested or found:
            return (nested or found)[-1]
        lines = [line for line in self.words.splitlines() if line.strip() and not FRAME.match(line)]
        return lines[-1].strip() if lines else "no reason was given"


@dataclass
class Judgement:
    """Outcomes compared with the expected failures."""
    outcomes: list
    expected: dict  # name -> why it cannot pass

    def named(self, outcome):
        return [one for one in self.outcomes if one.outcome == outcome]

    def failures(self):
        """The unexpected failures."""
        return [one for one in self.named(FAILED) if one.name not in self.expected]

    def expected_failures(self):
        return [one for one in self.named(FAILED) if one.name in self.expected]

    def surprises(self):
        """Tests that passed although the table of expected failures lists them."""
        return [one for one in self.named(PASSED) if one.name in self.expected]

    def numbers(self):
        """Returns (passed, failed, failed as expected, skipped); an unexpected pass counts as a failure."""
        surprises = len(self.surprises())
        return (len(self.named(PASSED)) - surprises, len(self.failures()) + surprises, len(self.expected_failures()),
                len(self.named(SKIPPED)))

    def in_words(self):
        passed, failed, expected, skipped = self.numbers()
        return (f"{passed} passed, {failed} failed" + (f", {expected} failed as expected" if expected else "")
                + f", {skipped} skipped")
