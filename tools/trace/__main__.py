# SPDX-License-Identifier: Apache-2.0
"""rondo-trace merges the files that RONDO_TRACE names: it aligns the clocks of hosts, joins the calls of ranks by
arrows, and sums up which ranks waited for which."""
import argparse
import json
import sys

from clocks import align
from job_files import read_all
from merge import merged
from program import run
from report import say
from strangers import printable

# As the other programs print it, and tools/manual reads it.
HELP = """One timeline of the files that RONDO_TRACE names, and which ranks came late.
Usage: rondo-trace [OPTIONS] FILE...

Positionals:
  FILE ... REQUIRED           a file that a process left, one for each process

Options:
  -h,--help                   Print this help message and exit
  -o,--output FILE            write the merged timeline there, for ui.perfetto.dev or chrome://tracing
  --json                      write the summary as JSON instead of text
"""


def main():
    parser = argparse.ArgumentParser(prog="rondo-trace")
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("-o", "--output", metavar="FILE")
    parser.add_argument("--json", action="store_true")
    parser.format_help = lambda: HELP
    options = parser.parse_args()
    files = read_all(options.files)
    clocks = align(files)
    summaries = merged(files, options.output)
    notes = [(file.path, note) for file in files for note in file.all_notes()]
    if options.json:
        json.dump({"clocks": [clock.as_json() for clock in clocks],
                   "notes": [{"file": path, "note": note} for path, note in notes],
                   "communicators": [one.as_json(ident) for ident, one in summaries.items()]}, sys.stdout, indent=1)
        print()
        return 0
    for path, note in notes:
        print(f"{printable(path)}: {note}")
    if len(clocks) > 1:
        print("clocks")
        for clock in clocks:
            print(f"  {clock.text()}")
    if not summaries:
        print("no communicator is in these files")
    for summary in summaries.values():
        say(summary)
    return 0


if __name__ == "__main__":
    run(main, "rondo-trace")
