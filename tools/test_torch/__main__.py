# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own suite on a backend; tools/test-torch starts this with an interpreter that has torch."""
import fnmatch
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # ranks share the cores
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

import expected  # noqa: E402
import options as command_line  # noqa: E402
import suite  # noqa: E402
import team  # noqa: E402
from outcome import LEFT_OUT, Judgement  # noqa: E402

SLOW_S = 3.0


def wanted(patterns):
    """Returns a function that keeps the names that match any of the patterns."""
    globs = [pattern if "*" in pattern else f"*{pattern}*" for pattern in patterns]
    return lambda names: [name for name in names
                          if not globs or any(fnmatch.fnmatchcase(name, glob) for glob in globs)]


def title(options, view, ranks):
    place = f" in the place of {suite.READS[view]}" if view in suite.READS else ""
    return f"{options.backend}{place}, {ranks} ranks"


def show(judgement, verbose):
    for one in judgement.failures():
        print(f"  FAILED {one.name} ({one.seconds:.1f} s): {one.reason()}")
        if verbose:
            print("    | " + one.words.rstrip().replace("\n", "\n    | "))
    for one in judgement.surprises():
        print(f"  PASSED, although the table says it cannot: {one.name} ({judgement.expected[one.name]})")
    for one in judgement.expected_failures():
        print(f"  failed as expected: {one.name} ({judgement.expected[one.name]})")
    if verbose:
        for one in judgement.outcomes:
            if one.seconds >= SLOW_S:
                print(f"  slow: {one.name} {one.seconds:.1f} s")


def run_view(options, view, ranks, select):
    """Runs one view at one number of ranks; prints and returns its Judgement."""
    import torch
    started = time.monotonic()
    outcomes = team.run_tests(lambda: suite.load(options.backend, view, ranks), select, options.limit)
    judgement = Judgement(outcomes, expected.expected_failures(options.backend, torch.__version__))
    print(f"{title(options, view, ranks)}: {judgement.in_words()} ({time.monotonic() - started:.0f} s)")
    show(judgement, options.verbose)
    sys.stdout.flush()
    return judgement


def parts(options):
    """Yields (view, ranks, name filter, what has run) for each part. --quick skips in one view what ran in another."""
    fit = wanted(options.patterns)
    for ranks in options.ranks:
        ran = set()
        order = reversed(options.views) if options.quick else options.views
        for view in order:
            def select(names, view=view, ran=ran):
                return [name for name in fit(names) if suite.belongs(view, name)
                        and not (options.quick and name in ran)]
            yield view, ranks, select, ran


def main():
    options = command_line.parse(sys.argv[1:])
    import torch.distributed  # noqa: F401  (hosts and ranks are forked from this process)
    totals = [0, 0, 0, 0]
    for view, ranks, select, ran in parts(options):
        if options.list:
            plan = team.list_tests(lambda v=view, r=ranks: suite.load(options.backend, v, r), select)
            print(f"{title(options, view, ranks)}: {len(plan.run)} tests, {len(plan.skipped)} left out")
            print("".join(f"  {name}\n" for name in plan.run), end="")
            continue
        judgement = run_view(options, view, ranks, select)
        ran.update(one.name for one in judgement.outcomes if one.words != LEFT_OUT)
        totals = [total + number for total, number in zip(totals, judgement.numbers())]
    if options.list:
        return 0
    # What the suite skips, mostly for lack of GPUs, is in the line of each part.
    passed, failed = totals[:2]
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
