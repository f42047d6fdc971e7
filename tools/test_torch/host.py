# SPDX-License-Identifier: Apache-2.0
"""A process that runs tests in sequence and reports each in a line of JSON."""
import json
import os
import sys
import time
import traceback
import unittest

from outcome import FAILED, PASSED, SKIPPED

LAST_LINES = 400  # of a failure's output


def serve(load, select, done, limit_s, pipe, log):
    """Runs in a forked process and never returns. `load` creates the test class, `select` filters the test names, and
    the first `done` of them are skipped; None: reports the names and runs none."""
    code = 1
    try:
        os.setsid()  # so that killing this process's group ends its ranks too
        os.dup2(log, 1)
        os.dup2(log, 2)
        with os.fdopen(pipe, "w", buffering=1) as out:
            suite = load()
            suite.limit_s = limit_s
            run, skipped = plan(suite, select)
            print(json.dumps({"run": run, "skipped": skipped}), file=out)
            for name in run[done:] if done is not None else ():
                print(json.dumps({"name": name, **run_test(suite, name)}), file=out)
        code = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def plan(suite, select):
    """Returns (names to run, names that decorators skip)."""
    names = select(unittest.TestLoader().getTestCaseNames(suite))
    skipped = [name for name in names if getattr(getattr(suite, name), "__unittest_skip__", False)]
    return [name for name in names if name not in skipped], skipped


def run_test(suite, name):
    """Runs one test; returns its {"outcome", "seconds", "words"}."""
    result = unittest.TestResult()
    started = time.monotonic()
    suite(name).run(result)
    wrong = [*result.errors, *result.failures]
    outcome, words = PASSED, ""
    if wrong:
        outcome, words = FAILED, "\n".join(text for _, text in wrong)
    elif result.skipped:
        outcome, words = SKIPPED, result.skipped[0][1]
    elif not result.testsRun:
        outcome, words = SKIPPED, "did not run"
    lines = words.splitlines()
    if len(lines) > LAST_LINES:
        words = "\n".join(lines[-LAST_LINES:])
    return {"outcome": outcome, "seconds": round(time.monotonic() - started, 2), "words": words}
