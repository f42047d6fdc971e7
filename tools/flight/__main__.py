# SPDX-License-Identifier: Apache-2.0
"""rondo-flight makes one story of the files that RONDO_FLIGHT_FILE names: where each rank of each communicator is,
which rank never came to a call, and which ranks made different calls. rondo-ps says the same of processes that run, by
the same modules."""
import argparse
import json
import sys

from job_files import members_of
from program import run
from program_place import stack_lines
from story import Story
from strangers import printable

# As the other programs print it, and tools/manual reads it.
HELP = """One story of the files that RONDO_FLIGHT_FILE names: where ranks are, which came late, which disagree.
Usage: rondo-flight [OPTIONS] FILE...

Positionals:
  FILE ... REQUIRED           a file that a process left, one for each process

Options:
  -h,--help                   Print this help message and exit
  --json                      write JSON instead of text
  --stacks                    also write all functions in which the threads of ranks in trouble are
"""


def say(story, has_stacks):
    print(story.title())
    for sentence in story.sentences():
        print(f"  {sentence}")
    places = story.places()
    width = min(40, max(len(ranks) for ranks, _ in places))
    for ranks, place in places:
        print(f"    {ranks:<{width}}  {place}")
    if not story.is_stuck():
        return
    for sentence in story.programs():
        print(f"  {sentence}")
    for rank, member in story.members.items() if has_stacks else ():
        print(f"  rank {rank}, process {member.process['pid']} on host {printable(member.process['host'])}:")
        for line in stack_lines(member):
            print(f"    {line}")


def say_as_json(stories):
    """One after the other, as each may list a million ranks."""
    print('{"communicators": [', end="")
    for at, story in enumerate(stories):
        print(",\n" if at else "\n", end="")
        json.dump(story.as_json(), sys.stdout, indent=1)
    print("\n]}")


def main():
    parser = argparse.ArgumentParser(prog="rondo-flight")
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--stacks", action="store_true")
    parser.format_help = lambda: HELP
    options = parser.parse_args()
    stories = [Story(ident, members) for ident, members in members_of(options.files).items()]
    # Communicators in trouble come first, those that explain it before those that only report it.
    stories.sort(key=lambda story: (not story.is_stuck(), not story.failure, not story.mismatch, not story.late))
    if options.json:
        say_as_json(stories)
        return 0
    if not stories:
        print("no communicator is in these files")
    for story in stories:
        say(story, options.stacks)
    return 0


if __name__ == "__main__":
    run(main, "rondo-flight")
