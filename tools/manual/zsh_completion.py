# SPDX-License-Identifier: Apache-2.0
"""Completion for zsh, of the same as completion.py: options with what they do, subcommands, words of an argument."""
from completion import argument_words


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bracketed(text):
    return text.translate(str.maketrans({"\\": "\\\\", "[": "\\[", "]": "\\]"}))


def option_specs(help_):
    for entry in help_.options():
        others = f"({' '.join(entry.names)})" if len(entry.names) > 1 else ""
        value = f":{entry.value.partition(':')[0]}:_files" if entry.value else ""
        for name in entry.names:
            yield quoted(f"{others}{name}[{bracketed(entry.text)}]{value}")


def arguments(help_, indent, *last, flags="-s -S"):
    lines = " \\\n".join(f"{indent}  {spec}" for spec in (*option_specs(help_), *last))
    return f"{indent}_arguments {flags} \\\n{lines}\n"


def zsh_completion(name, help_):
    text = f"#compdef {name}\n# Made by tools/manual; do not edit.\n"
    if not help_.commands:
        words = argument_words(help_)
        return text + arguments(help_, "", quoted(f"*:argument:{'(' + ' '.join(words) + ')' if words else '_files'}"))
    text += "local curcontext=$curcontext state line\nlocal -A opt_args\n"
    text += arguments(help_, "", quoted(f"1:command:({' '.join(help_.commands)})"), quoted("*::argument:->command"),
                      flags="-s -S -C")
    text += "[[ $state == command ]] || return 0\ncase $line[1] in\n"
    for command, one in help_.commands.items():
        text += f"  {command})\n{arguments(one, '    ', quoted('*:argument:_files'))}    ;;\n"
    return text + "esac\n"
