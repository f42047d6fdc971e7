# SPDX-License-Identifier: Apache-2.0
"""A program's --help as data: what its man page and its shell completion are made of."""
import dataclasses
import re
import subprocess

COLUMN = 30  # where CLI11 begins the description of an option, on the same line or the next
OPTION_NAME = re.compile(r"^--?[\w-]+$")
RULE = re.compile(r" ?\b(Excludes|Needs): ([-\w]+(?: --?[\w-]+)*)")


@dataclasses.dataclass
class Entry:
    """An option, a positional argument or a subcommand."""
    names: list
    value: str = ""    # "INT", "A B x 2"; empty: it takes none
    text: str = ""
    required: bool = False
    needs: str = ""    # names of options
    excludes: str = ""


@dataclasses.dataclass
class Help:
    summary: str
    usage: str = ""
    groups: dict = dataclasses.field(default_factory=dict)   # heading -> entries
    notes: str = ""    # text after all groups
    commands: dict = dataclasses.field(default_factory=dict)  # name of a subcommand -> its Help

    def options(self):
        return [entry for entries in self.groups.values() for entry in entries if entry.names[0].startswith("-")]


class BadHelp(Exception):
    pass


def entry_of(spec, text):
    rules = dict(RULE.findall(spec))
    names, _, value = RULE.sub("", spec).partition(" ")
    required = value.endswith("REQUIRED")
    value = re.sub(r"^(\w+):(?=\1 in )", "", value)  # CLI11 repeats the type before its range
    names = [re.sub(r"\{.*\}$", "", name) for name in names.split(",")]
    wrong = [name for name in names if name.startswith("-") and not OPTION_NAME.match(name)]
    if wrong:
        raise BadHelp(f"'{wrong[0]}' is no name of an option, in '{spec}'")
    return Entry(names, value.removesuffix("REQUIRED").strip(), text, required, rules.get("Needs", ""),
                 rules.get("Excludes", ""))


def entries_of(lines):
    """The entries that lines with a margin of two columns describe."""
    found = []
    for number, line in enumerate(lines):
        if line.startswith(" " * COLUMN):
            continue  # of the entry before
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if below.startswith(" " * COLUMN):
            found.append(entry_of(line.strip(), below.strip()))
        else:
            found.append(entry_of(line[:COLUMN].strip(), line[COLUMN:].strip()))
    return found


def parsed(text):
    """The Help that CLI11 prints; of any other text its first line is the summary, and the rest the notes."""
    head, found, rest = text.partition("\nUsage: ")
    if not found:
        first, _, notes = text.partition("\n")
        return Help(first.partition(": ")[2] or first, notes=notes.rstrip("\n"))
    usage, _, rest = rest.partition("\n")
    result = Help(" ".join(head.split()), usage)
    lines = rest.split("\n")
    heads = [number for number, line in enumerate(lines) if re.match(r"^[A-Z][\w ]*:$", line)]
    for number, begin in enumerate(heads):
        end = heads[number + 1] if number + 1 < len(heads) else len(lines)
        body = [line for line in lines[begin + 1:end] if line.startswith("  ")]
        last = max((at for at in range(begin + 1, end) if lines[at].startswith("  ")), default=begin)
        result.groups[lines[begin][:-1]] = entries_of(body)
        result.notes = "\n".join(lines[last + 1:end]).strip("\n")
    return result


def help_of(program, *command):
    """The Help of a program, with those of its subcommands."""
    run = subprocess.run([program, *command, "--help"], text=True, capture_output=True, check=True, timeout=60)
    result = parsed(run.stdout)
    for entry in result.groups.pop("Subcommands", []):
        name = entry.names[0]
        result.commands[name] = help_of(program, *command, name)
        result.commands[name].summary = entry.text
    return result
