# SPDX-License-Identifier: Apache-2.0
"""Completion for fish, of the same as completion.py: options with what they do, subcommands, words of an argument."""
from completion import argument_words


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def option_lines(name, help_, condition):
    for entry in help_.options():
        kinds = [("-l " if one.startswith("--") else "-s ") + one.lstrip("-") for one in entry.names]
        text = f" -d {quoted(entry.text)}" if entry.text else ""
        yield f"complete -c {name}{condition} {' '.join(kinds)}{' -r' if entry.value else ''}{text}"


def fish_completion(name, help_):
    lines = [f"# Completion of {name} for fish. Made by tools/manual; do not edit."]
    lines += option_lines(name, help_, " -n __fish_use_subcommand" if help_.commands else "")
    for command, one in help_.commands.items():
        lines.append(f"complete -c {name} -f -n __fish_use_subcommand -a {command} -d {quoted(one.summary)}")
        lines += option_lines(name, one, f" -n '__fish_seen_subcommand_from {command}'")
    if not help_.commands and argument_words(help_):
        lines.append(f"complete -c {name} -a {quoted(' '.join(argument_words(help_)))}")
    return "\n".join(lines) + "\n"
