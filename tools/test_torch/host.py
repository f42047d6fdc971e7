"""A process that runs tests one after the other and reports each in a line of JSON."""
import json
import os
import sys
import time
import traceback
import unittest

from outcome import FAILED, PASSED, SKIPPED

LAST_LINES = 400  # of a failure's words


def serve(load, select, done, limit_s, pipe, log):
    """Runs in a forked process, and never returns. `load` makes the class of the tests, `select` keeps some of their
    names, and of these the first `done` are left out; None: says which there are and runs none."""
    code = 1
    try:
        os.setsid()  # so that whoever ends this process ends its ranks too
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
    """(names to run, names that decorators leave out)"""
    names = select(unittest.TestLoader().getTestCaseNames(suite))
    skipped = [name for name in names if getattr(getattr(suite, name), "__unittest_skip__", False)]
    return [name for name in names if name not in skipped], skipped


def run_test(suite, name):
    """{"outcome", "seconds", "words"} of one test."""
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
