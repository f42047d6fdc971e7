# SPDX-License-Identifier: Apache-2.0
"""python -m rondo info; python -m rondo bench; python -m rondo explain."""
import argparse
import os
import sys

from rondo import _bench, _info
from rondo._programs import found


def ranks(text):
    try:
        return _bench.check_ranks(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def options():
    parser = argparse.ArgumentParser(prog="python -m rondo", description="Rondo, as it is installed here.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("info", help="print version, library, transports, GPU and programs")
    bench = commands.add_parser("bench", help="measure a collective between processes of this host, 20 s at most",
                                description="Measures a collective on host memory between processes of this host: "
                                            "prints a table for each number of ranks, and draws time and bandwidth.")
    bench.add_argument("collective", nargs="?", default="all_reduce", help="such as broadcast; default: all_reduce")
    bench.add_argument("--ranks", type=ranks,
                       help="number of ranks, or several such as 2,4; default: 2 and one per CPU")
    bench.add_argument("--picture", default="rondo-bench.svg", metavar="FILE",
                       help="the SVG to write; default: %(default)s")
    commands.add_parser("explain", help="say what is behind an error, by its id, its message or a log")
    return parser.parse_args(["explain"] if sys.argv[1:2] == ["explain"] else None)


def discard_output():
    """Does not try again what could not be written."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main():
    chosen = options()
    try:
        if chosen.command == "explain":
            program = found("rondo-explain")
            os.execv(program, [program, *sys.argv[2:]])
        code = _info.run() if chosen.command == "info" else _bench.run(chosen.collective, chosen.ranks, chosen.picture)
        print(end="", flush=True)
        return code
    except BrokenPipeError:  # as of head: nothing is left to say
        discard_output()
        return 1
    except (OSError, ImportError) as error:
        print(f"python -m rondo {chosen.command}: {error}", file=sys.stderr)
        discard_output()
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
