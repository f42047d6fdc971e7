#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explains Rondo's errors: what docs/troubleshooting.md, docs/infiniband.md and docs/plugin.md say about the ids, or
known messages, in a text."""
import os
import re
import shlex
import shutil
import signal
import sys
import textwrap

# As the other programs print it, and tools/manual reads it.
HELP = """What is behind an error of Rondo, and what to do.
Usage: rondo-explain [OPTIONS] [TEXT...]

Positionals:
  TEXT ...                    an id such as R0203, a message, or the name of a status; standard input if there is none

Options:
  -h,--help                   Print this help message and exit
  --list                      print all ids, each with a part of its messages
"""

# What the documents say, which the build puts here.
ROWS = []

ID = re.compile(r"\bR\d{4}\b", re.ASCII | re.IGNORECASE)
BRACKETED = re.compile(r"\[(R\d{4})\]", re.ASCII)
MAX_LINE = 1 << 16
MIN_LITERAL = 12  # letters that a known message needs in a text without an id: shorter ones are in any text
VARYING = re.compile(r"\.\.\.|\{[^}]*\}|\b(?:mlx5_\d+|libnccl-net-\w+\.so|ncclNetPlugin_v\d+|0x[0-9a-f]+|\d+|N)\b")


def pieces_of(parts):
    """Of a quoted message, in their order: numbers, names of devices and what is left out may be anything."""
    return [piece for part in parts for piece in VARYING.split(part) if piece]


def has_pieces(text, pieces):
    """Without a regular expression, which takes long on some lines."""
    at = 0
    for piece in pieces:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


def messages():
    """All, each with the longest of its pieces, which few lines of a log have."""
    for row in ROWS:
        for parts in row["quoted"]:
            if not row["id"].startswith("R00"):
                pieces = pieces_of(parts)
                yield max(pieces, key=len), pieces, row


MESSAGES = list(messages())
BY_ID = {row["id"]: row for row in ROWS if row["id"]}
BY_STATUS = {row["quoted"][0][0]: row for row in ROWS if row["id"].startswith("R00")}


def known_rows(text, is_log):
    """The rows about a line: those of its ids, and of known messages without an id that it has. A line without ids
    has the row of the longest known message; in a log, lines of other programs are left alone."""
    ids = BRACKETED.findall(text) if is_log else [one.upper() for one in ID.findall(text)]
    if not ids and text.strip() in BY_STATUS:
        return [BY_STATUS[text.strip()]]
    if is_log and not ids and "rondo" not in text.lower():
        return []
    known = [(len("".join(pieces)), row) for longest, pieces, row in MESSAGES
             if longest in text and has_pieces(text, pieces)]
    if ids:
        return [BY_ID.get(one, {"id": one}) for one in ids] + [row for _, row in known if not row["id"]]
    known = [(length, row) for length, row in known if length >= MIN_LITERAL]
    return [max(known, key=lambda found: found[0])[1]] if known else []


def wrapped(name, text, width):
    return textwrap.fill(text, width, initial_indent=f"  {name + ':':<16}", subsequent_indent=" " * 18,
                         break_long_words=False, break_on_hyphens=False)


def explained(row, width):
    if "texts" not in row:
        return f"{row['id']}: no such id: a later version of Rondo has it, or it is misspelt"
    messages = ", ".join(f'"{" ... ".join(part.strip() for part in parts)}"' for parts in row["quoted"])
    title = f"{row['id']}: {messages}" if row["id"] else messages
    lines = [textwrap.fill(title, width, subsequent_indent="       ", break_long_words=False,
                           break_on_hyphens=False)]
    lines += [wrapped(name, text, width) for name, text in row["texts"].items()]
    if "picture" in row:
        lines += ["", *(f"  {line}" if line else "" for line in row["picture"]), ""]
    return "\n".join([*lines, f"  {'more:':<16}{row['page']}"])


def list_ids():
    for row in sorted(BY_ID.values(), key=lambda one: one["id"]):
        print(f"{row['id']}  {' ... '.join(row['quoted'][0]).strip()}")


def lines_of_input():
    """Of a text that may have any bytes, and lines of any length."""
    try:
        with open(0, "rb", closefd=False) as file:
            while line := file.readline(MAX_LINE):
                yield line.decode(errors="replace")
    except OSError as error:
        sys.exit(f"rondo-explain: cannot read standard input: {error.strerror}")


def main():
    for one in signal.SIGPIPE, signal.SIGINT:
        signal.signal(one, signal.SIG_DFL)
    if sys.stdout:
        sys.stdout.reconfigure(errors="replace")  # a terminal may lack the lines of pictures
    given = sys.argv[1:]
    if given and given[0] in ("-h", "--help"):
        print(HELP, end="")
        return 0
    if given == ["--list"]:
        list_ids()
        return 0
    if given and given[0].startswith("-") and given[0] != "--":
        print(f"rondo-explain: unknown option {given[0]}; rondo-explain --help lists them", file=sys.stderr)
        return 2
    given = given[given[:1] == ["--"]:]
    width = min(shutil.get_terminal_size((100, 25)).columns, 120)
    known, seen = [], set()
    for text in (given or lines_of_input()):
        for row in known_rows(text, not given):
            name = row["id"] or str(row["quoted"])
            if name not in seen:
                seen.add(name)
                known.append(row)
                print(("\n" if len(known) > 1 else "") + explained(row, width), flush=True)
    if not known:
        hint = next((f"; of a file: rondo-explain < {shlex.quote(text)}" for text in given if os.path.isfile(text)), "")
        print(f"rondo-explain: no id, such as R0203, and no known message in it{hint}", file=sys.stderr)
    return 0 if known and all("texts" in row for row in known) else 1


def run():
    """The exit status of the program, whose output may not be writable."""
    try:
        code = main()
        print(end="", flush=True)
        return code
    except OSError as error:
        print(f"rondo-explain: cannot write standard output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1


if __name__ == "__main__":
    sys.exit(run())
