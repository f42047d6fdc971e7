# SPDX-License-Identifier: Apache-2.0
"""Pages of the reference: of each header of the C API, from its comments, and of the programs, from their --help."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "manual"))
import header_text  # noqa: E402
from help_text import help_of  # noqa: E402
from roff import sentence_case  # noqa: E402

HEADERS = ("plan", "rondo", "topology")
PARAMETER = re.compile(r"@param(?:\[[a-z,]+\])? (\w+) ")


def prose(text):
    """A comment's text as Markdown."""
    text = re.sub(r"(?<!\w)::(\w+(?:::\w+)*)", r"`\1`", text).replace("<", "&lt;")
    text = re.sub(r"@p (\w+)", r"*\1*", text)
    return re.sub(r"(?<=[^\n])\n(?=- )", "\n\n", text, count=1)


def described(comment):
    text, *marked = re.split(r"(?:\n|\A)(?=@(?:param|return)\b)", comment)
    lines = [prose(text), ""]
    for one in marked:
        one = re.sub(r"\n\s*", " ", one)
        one = PARAMETER.sub(r"*\1*: ", one).replace("@return ", "Returns ", 1)
        lines.append("- " + prose(one))
    return "\n".join(lines) + "\n"


def header_page(header):
    lines = [f"# {header.name}", "", prose(header.summary), "", prose(header.comment), ""]
    for section in header.sections:
        lines += [f"## {section.title}", "", prose(section.comment), ""]
        for one in section.declared:
            if one.functions:
                lines += ["### " + ", ".join(f"{name}()" for name in one.functions), ""]
            lines += ["```c", one.code.replace("RONDO_API ", ""), "```", "", described(one.comment), ""]
    return "\n".join(lines)


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


def options_tables(help_, marks):
    lines = []
    for heading, entries in help_.groups.items():
        lines += [f"{marks} {heading}", "", "| | meaning |", "|---|---|"]
        lines += [f"| `{', '.join(entry.names)}`" + (f" *{cell(entry.value)}*" if entry.value else "") +
                  f" | {cell(entry.text)} |" for entry in entries if "--help" not in entry.names]
        lines.append("")
    return lines


def program_lines(name, help_):
    lines = [f"## {name}", "", prose(sentence_case(help_.summary, True)), ""]
    lines += ["```text", help_.usage or name, "```", "", *options_tables(help_, "####")]
    if help_.notes:
        lines += ["```text", help_.notes, "```", ""]
    for command, of_command in help_.commands.items():
        lines += [f"### {name} {command}", "", prose(sentence_case(of_command.summary, True)) + ".", "",
                  *options_tables(of_command, "####")]
    return lines


def programs_page(folder):
    names = sorted(name for name in os.listdir(folder) if name.startswith("rondo-"))
    return "\n".join(["# Programs", "", "What each program says of itself with `--help`.", "",
                      *(line for name in names for line in program_lines(name, help_of(os.path.join(folder, name))))])


def pages(root, programs):
    """Their texts by their places in the site."""
    headers = [header_text.read(os.path.join(root, "runtime", "include", "rondo", name + ".h")) for name in HEADERS]
    found = {f"reference/{name}.md": header_page(header) for name, header in zip(HEADERS, headers)}
    found["reference/programs.md"] = programs_page(programs)
    return found
