# SPDX-License-Identifier: Apache-2.0
"""Sums up a run of `meson test`: short logs of what failed, and 'N passed, N failed' of single test cases.

For a Catch2 program, the cases that it reports are counted; for a program that ends with a line 'N passed, N failed',
those; any other program counts as one case. A program that crashed or timed out adds a failure of its own.
"""
import json
import re
import sys

SHOWN_LINES = 60  # of a failed test's output

CATCH_ALL_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)$", re.M)
CATCH_TOTALS = re.compile(r"^test cases:(.*)$", re.M)
PLAIN_TOTALS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
SKIP_NOTE = re.compile(r"^\s*(skipped: .*(?:\n +\S.*)*)", re.M)


def cases(output):
    """(passed, failed, skipped) as the program itself reports; None if it does not."""
    found = PLAIN_TOTALS.findall(output)
    if found:
        return tuple(int(number or 0) for number in found[-1])
    found = CATCH_ALL_PASSED.findall(output)
    if found:
        return int(found[-1]), 0, 0
    found = CATCH_TOTALS.findall(output)
    if found:
        numbers = {word: int(n) for n, word in re.findall(r"(\d+) (passed|failed|skipped)", found[-1])}
        return numbers.get("passed", 0), numbers.get("failed", 0), numbers.get("skipped", 0)
    return None


def count(result, output):
    """(passed, failed, skipped) of one program, given meson's result."""
    said = cases(output)
    if result == "SKIP":
        return said or (0, 0, 1)
    if result in ("OK", "EXPECTEDFAIL"):
        return said or (1, 0, 0)
    passed, failed, skipped = said or (0, 0, 0)
    return passed, max(failed, 1), skipped


def shorten(output):
    lines = output.rstrip().splitlines()
    if len(lines) <= SHOWN_LINES:
        return lines
    head = SHOWN_LINES // 3
    return [*lines[:head], f"... {len(lines) - SHOWN_LINES} lines ...", *lines[head - SHOWN_LINES:]]


def report(tests):
    """Prints what failed and what was skipped; returns the totals."""
    totals = [0, 0, 0]
    notes = []
    for test in tests:
        output = test.get("stdout", "") + test.get("stderr", "")
        numbers = count(test["result"], output)
        totals = [total + number for total, number in zip(totals, numbers)]
        if numbers[1]:
            print(f"\n---- {test['name']}: {test['result']}")
            print("\n".join(shorten(output)))
        for note in SKIP_NOTE.findall(output):
            notes.append(f"{test['name']}: {' '.join(note.split())}")
    if notes:
        print("\nWithin the tests:\n  " + "\n  ".join(notes))
    return totals


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        tests = [json.loads(line) for line in log if line.strip()]
    passed, failed, skipped = report(tests)
    print()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or not passed + skipped else 0


if __name__ == "__main__":
    sys.exit(main())
