# SPDX-License-Identifier: Apache-2.0
"""program_pages.py VERSION PROGRAM MAN-PAGE [BASH ZSH FISH]: writes the page, and completions for these shells, of what
the program's --help says."""
import os
import sys

import roff
from completion import bash_completion
from fish_completion import fish_completion
from help_text import help_of
from zsh_completion import zsh_completion


def names_of(entry):
    value = f" {roff.italic(entry.value)}" if entry.value else ""
    return ", ".join(roff.bold(name) for name in entry.names) + value


def entry_lines(entry):
    said = [roff.sentence_case(entry.text, True) + "." if entry.text else ""]
    said += ["It must be given."] * entry.required
    said += [f"Only with {', '.join(entry.needs.split())}."] if entry.needs else []
    said += [f"Not with {', '.join(entry.excludes.split())}."] if entry.excludes else []
    return [".TP", names_of(entry), roff.escaped(" ".join(said).replace("..", "."))]


def group_lines(help_, level=".SS"):
    lines = []
    for heading, entries in help_.groups.items():
        lines += [f"{level} {heading}", *(line for entry in entries for line in entry_lines(entry))]
    return lines


def command_lines(help_):
    lines = []
    for name, command in help_.commands.items():
        lines += [f".SS {name}", roff.escaped(roff.sentence_case(command.summary, True) + "."), ".PP",
                  roff.bold(command.usage)]
        lines += [line for entries in command.groups.values() for entry in entries for line in entry_lines(entry)
                  if "--help" not in entry.names]
    return lines


def man_page(name, version, help_):
    synopsis = [roff.bold(help_.usage or name)]
    description = [roff.escaped(roff.sentence_case(help_.summary, True))]
    if help_.notes:
        description += roff.verbatim(help_.notes)
    programs = ("rondo-doctor", "rondo-perf", "rondo-run", "rondo-plan", "rondo-topo", "rondo-flight", "rondo-ps",
                "rondo-trace", "rondo-explain")
    others = [f".BR {roff.escaped(other)} (1)," for other in programs if other != name]
    return roff.page(name, 1, version, help_.summary, [
        ("SYNOPSIS", synopsis), ("DESCRIPTION", description), ("OPTIONS", group_lines(help_)),
        ("COMMANDS", command_lines(help_)), ("SEE ALSO", others + [".BR rondo (3)"])])


def main():
    version, program, page_path, *completion_paths = sys.argv[1:]
    name, help_ = os.path.basename(program), help_of(os.path.abspath(program))
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(man_page(name, version, help_))
    for path, completion in zip(completion_paths, (bash_completion, zsh_completion, fish_completion)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(completion(name, help_))


if __name__ == "__main__":
    main()
