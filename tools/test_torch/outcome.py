"""What became of a test, and how many of each there were."""
import re
from dataclasses import dataclass

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LEFT_OUT = "by its decorator"  # and so not even tried

# The line that says what was wrong: Python's last line of a traceback. C++ appends its own stack below it.
REASON = re.compile(r"^(?!Exception raised from )(?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning)\b:? .*$", re.M)
FRAME = re.compile(r"^\s*(?:File |frame #|#\d+ |C\+\+ CapturedTraceback|Traceback )")


@dataclass
class Outcome:
    """One test's end."""
    name: str
    outcome: str
    seconds: float = 0.0
    words: str = ""

    def reason(self):
        """What was wrong, in one line."""
        found = REASON.findall(self.words)
        nested = [line for line in found if not line.startswith("RuntimeError: Process ")]
        if nested or found:
            return (nested or found)[-1]
        lines = [line for line in self.words.splitlines() if line.strip() and not FRAME.match(line)]
        return lines[-1].strip() if lines else "no reason was given"


@dataclass
class Judgement:
    """Outcomes beside what was expected of them."""
    outcomes: list
    expected: dict  # name -> why it cannot pass

    def named(self, outcome):
        return [one for one in self.outcomes if one.outcome == outcome]

    def failures(self):
        """Those that count: the unexpected ones."""
        return [one for one in self.named(FAILED) if one.name not in self.expected]

    def expected_failures(self):
        return [one for one in self.named(FAILED) if one.name in self.expected]

    def surprises(self):
        """Passed, although the table of expected failures says that they cannot."""
        return [one for one in self.named(PASSED) if one.name in self.expected]

    def numbers(self):
        """(passed, failed, failed as expected, skipped): passing unexpectedly is a failure."""
        surprises = len(self.surprises())
        return (len(self.named(PASSED)) - surprises, len(self.failures()) + surprises, len(self.expected_failures()),
                len(self.named(SKIPPED)))

    def in_words(self):
        passed, failed, expected, skipped = self.numbers()
        return (f"{passed} passed, {failed} failed" + (f", {expected} failed as expected" if expected else "")
                + f", {skipped} skipped")
