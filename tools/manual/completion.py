# SPDX-License-Identifier: Apache-2.0
"""Completion for bash: a program's options, subcommands, and arguments that --help lists. For anything else, such as
the value of an option, bash offers what it does by itself."""
import re

LIST = re.compile(r"^\w+(?:, \w+)*,? or \w+$")  # "all_reduce, broadcast, or all"


def option_names(help_):
    return [name for entry in help_.options() for name in entry.names]


def argument_words(help_):
    """Subcommands, and the words that a positional argument may be."""
    listed = [entry.text for entry in help_.groups.get("Positionals", []) if LIST.match(entry.text)]
    return [*help_.commands, *(word for text in listed for word in re.split(r",? or |, ", text))]


def valued_names(help_):
    helps = [help_, *help_.commands.values()]
    return sorted({name for each in helps for entry in each.options() if entry.value for name in entry.names})


def option_lines(help_):
    """Sets `command` to the first subcommand before this word, and `words` to the options there."""
    if not help_.commands:
        return [f"  words='{' '.join(option_names(help_))}'"]
    return ["  local word", '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do', "    case $word in",
            f"      {' | '.join(help_.commands)}) command=$word; break ;;", "    esac", "  done", "  case $command in",
            *(f"    {name}) words='{' '.join(option_names(one))}' ;;" for name, one in help_.commands.items()),
            f"    *) words='{' '.join(option_names(help_))}' ;;", "  esac"]


def program_lines(valued):
    """Leaves the words of the program that is started, and of its arguments, to bash."""
    return ["  local at", "  for ((at = 1; at < COMP_CWORD; ++at)); do", "    case ${COMP_WORDS[at]} in",
            f"      {' | '.join(valued)}) ((++at)) ;;", "      -*) ;;", "      *) return ;;", "    esac", "  done"]


def bash_completion(name, help_):
    function, valued = "_" + name.replace("-", "_"), valued_names(help_)
    lines = [f"# Completion of {name} for bash. Made by tools/manual; do not edit.", f"{function}() {{",
             '  local current=${COMP_WORDS[COMP_CWORD]} command="" words', "  COMPREPLY=()"]
    if valued:
        lines += ["  case ${COMP_WORDS[COMP_CWORD-1]} in", f"    {' | '.join(valued)}) return ;;", "  esac"]
    if " PROGRAM" in help_.usage:
        lines += program_lines(valued)
    lines += option_lines(help_)
    lines += ["  if [[ $current != -* ]]; then", "    [[ -z $command ]] || return",
              f"    words='{' '.join(argument_words(help_))}'", "  fi"]
    return "\n".join([*lines, '  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")', "}",
                      f"complete -o default -F {function} {name}"]) + "\n"
