# SPDX-License-Identifier: Apache-2.0
"""rondo-ps shows the jobs of this user on this host that use Rondo: every process has a socket at which it says what it
is doing (runtime/bootstrap/ps_server.h), and what it cannot say is in /proc. A process of each job asks those on other
hosts. Their stories are told by the modules of rondo-flight, which tells those of files."""
import argparse
import json
import shutil
import sys
import time

from look import Look
from program import open_many_files, run
from report import as_json, text_lines

# As the other programs print it, and tools/manual reads it.
HELP = """The jobs of this user on this host that use Rondo: what each rank does, and which rank is late.
Usage: rondo-ps [OPTIONS]

Options:
  -h,--help                   Print this help message and exit
  --here                      ask only the processes of this host
  --watch [SECONDS]           show it again and again, every 2 s or as often as this says
  --json                      write JSON instead of text; with --watch an object a line
"""

SAMPLE_S = 0.2  # between the two looks from which rates are computed
REUSED_S = 0.06  # a process gives all who ask within 50 ms the same text, from which no rate follows


def wait_until(due):
    """Until then, and until processes have something new to say."""
    time.sleep(max(due - time.monotonic(), REUSED_S))


def show(look, options, out):
    if options.json:
        json.dump(as_json(look), out, indent=None if options.watch else 1)
        print(file=out, flush=True)
        return
    lines = list(text_lines(look))
    if not options.watch or not out.isatty():
        print("\n".join(lines), flush=True, file=out)
        return
    height = shutil.get_terminal_size().lines - 1
    if len(lines) > height:
        lines[height - 1:] = [f"{len(lines) - height + 1:,} more lines"]
    # Home; lines that are too long are cut; the rest of each line and of the screen becomes empty.
    print("\x1b[H\x1b[?7l" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J\x1b[?7h", end="", flush=True,
          file=out)


def watch(look, options):
    if sys.stdout.isatty() and not options.json:
        print("\x1b[2J", end="")
    due = time.monotonic()
    while True:
        show(look, options, sys.stdout)
        due = max(due + options.watch, time.monotonic())
        wait_until(due)
        look.earlier = None  # or all looks would be kept
        look = Look(options.here, look)
        if not options.json and not sys.stdout.isatty():
            print()


def period(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0.1 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"'{text}': it must be a number of seconds from 0.1 to 86400")
    return seconds


def main():
    parser = argparse.ArgumentParser(prog="rondo-ps")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--watch", metavar="SECONDS", nargs="?", type=period, const=2.0)
    parser.add_argument("--json", action="store_true")
    parser.format_help = lambda: HELP
    options = parser.parse_args()
    open_many_files()
    began = time.monotonic()
    first = Look(options.here)
    if first.answers:
        wait_until(began + SAMPLE_S)
    look = Look(options.here, first)
    first.earlier = None
    if options.watch:
        watch(look, options)
    show(look, options, sys.stdout)
    return 0


if __name__ == "__main__":
    run(main, "rondo-ps", interrupted=0)
