# SPDX-License-Identifier: Apache-2.0
"""The command line of tools/test-torch."""
import argparse
import re

from suite import AS_GLOO, AS_MPI, NAMED

DESCRIPTION = """Runs PyTorch's own tests of torch.distributed, which its wheel contains, on a backend: with processes
of this host, on the CPU. The output names every test that failed; the last line counts all tests."""
EPILOG = """The suite selects its tests by the backend's name. Backends other than gloo are therefore tested twice:
under their own name, and in place of Gloo, where the suite reads "gloo" and gets the backend; and for all-to-all, which
the suite tests on CPUs with MPI only, in place of MPI."""


def numbers(text):
    """"2,3" -> [2, 3]"""
    if not re.fullmatch(r"[1-9]\d?(,[1-9]\d?)*", text):
        raise argparse.ArgumentTypeError(f"is '{text}': it must be numbers of ranks, as in 2,3,4")
    return list(dict.fromkeys(map(int, text.split(","))))


def seconds(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"is '{text}': it must be a whole number of seconds, at least 1")
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tools/test-torch", description=DESCRIPTION, epilog=EPILOG)
    parser.add_argument("--backend", default="rondo", help='the backend; "gloo" shows the results to expect (rondo)')
    parser.add_argument("--ranks", type=numbers, help="numbers of ranks, comma separated (2,3,4)")
    parser.add_argument("-k", action="append", default=[], metavar="PATTERN", dest="patterns",
                        help="only tests whose names contain this, or match it if it has a *; may be repeated")
    views = parser.add_mutually_exclusive_group()
    views.add_argument("--as-gloo", action="store_const", const=[AS_GLOO, AS_MPI], dest="views",
                       help="only in place of Gloo, and of MPI for all-to-all")
    views.add_argument("--as-itself", action="store_const", const=[NAMED], dest="views",
                       help="only under its own name")
    parser.add_argument("--quick", action="store_true",
                        help="2 ranks, and each test in one view only: takes 100 s on 2 cores")
    parser.add_argument("--limit", type=seconds, default=60, metavar="SECONDS",
                        help="time limit per test (60)")
    parser.add_argument("--list", action="store_true", help="print the names of the tests without running them")
    parser.add_argument("-v", "--verbose", action="store_true",
                        help="print the whole output of failed tests, and list slow tests")
    options = parser.parse_args(arguments)
    if options.backend == "gloo" and options.views:
        parser.error("--as-gloo and --as-itself are for backends other than gloo")
    if options.quick and options.ranks:
        parser.error("--quick runs 2 ranks: omit --ranks")
    if options.quick and options.views:
        parser.error("--quick chooses the view of each test itself")
    options.ranks = options.ranks or ([2] if options.quick else [2, 3, 4])
    options.views = options.views or ([NAMED] if options.backend == "gloo" else [NAMED, AS_GLOO, AS_MPI])
    return options
