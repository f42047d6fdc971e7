# SPDX-License-Identifier: Apache-2.0
"""header_pages.py list HEADER: the names of the man pages of a header of the C API, one a line.
header_pages.py write HEADER VERSION FOLDER: writes them: of the header, of each of its sections, and of each function,
which shows that of its section."""
import os
import re
import sys

import header_text
import roff


def words(text):
    """A comment's text with its marks as troff has them."""
    text = re.sub(r"(?<!\w)::(?=\w)", "", text)
    text = roff.escaped(re.sub(r"@p (\w+)", "\x01\\1\x02", text))
    return text.replace("\x01", "\\fI").replace("\x02", "\\fR")


def paragraphs(text):
    """A comment's text; lines that begin with '- ' are items of a list, and those of an indented paragraph are code."""
    lines = []
    for paragraph in re.split(r"\n\n", text):
        if paragraph.startswith("    "):
            lines += [".PP", ".nf", words(paragraph), ".fi"]
            continue
        for item in re.split(r"\n(?=- )", paragraph):
            if item.startswith("- "):
                lines += [".IP \\(bu 2", words(re.sub(r"\n +", "\n", item[2:]))]
            elif item:
                lines += [".PP", words(item)]
    return lines


def comment_lines(comment):
    """A comment with @param and @return."""
    text, *marked = re.split(r"(?:\n|\A)(?=@(?:param|return)\b)", comment)
    lines = paragraphs(text)
    for one in marked:
        kind, _, rest = one.partition(" ")
        name, said = ("Returns", rest) if kind == "@return" else rest.split(None, 1)
        lines += [".TP", roff.bold(name) if kind == "@return" else roff.italic(name), words(said)]
    return lines


def declared_lines(one):
    heading = [f".SS {', '.join(roff.escaped(name) + '()' for name in one.functions)}"] if one.functions else []
    return [*heading, *roff.verbatim(one.code.replace("RONDO_API ", "")), *comment_lines(one.comment)]


def section_page(header, section, version):
    synopsis = roff.verbatim(f"#include <{header.name}>")
    declared = [line for one in section.declared for line in declared_lines(one)]
    others = [f".BR {roff.escaped(other.page)} (3)," for other in header.sections if other is not section]
    return roff.page(section.page, 3, version, f"{section.title.lower()} of Rondo's C API", [
        ("SYNOPSIS", synopsis), ("DESCRIPTION", paragraphs(section.comment)), ("DECLARATIONS", declared),
        ("SEE ALSO", [*others, f".BR {roff.escaped(header.page)} (3)"])])


def header_page(header, version):
    topics = [line for section in header.sections for line in
              [".TP", f".BR {roff.escaped(section.page)} (3)", roff.escaped(", ".join(section.functions))]]
    return roff.page(header.page, 3, version, header.summary, [
        ("SYNOPSIS", roff.verbatim(f"#include <{header.name}>")), ("DESCRIPTION", paragraphs(header.comment)),
        ("TOPICS", topics)])


def pages(header, version):
    """name -> text."""
    made = {header.page: header_page(header, version)}
    for section in header.sections:
        made[section.page] = section_page(header, section, version)
        for function in section.functions:
            if function == section.page:
                continue
            if function in made:
                raise SystemExit(f"{header.name}: {function} has two pages")
            made[function] = f".so man3/{section.page}.3\n"
    return made


def main():
    command, path, *rest = sys.argv[1:]
    if command == "list":
        print("\n".join(f"{name}.3" for name in pages(header_text.read(path), "")))
        return
    version, folder = rest
    for name, text in pages(header_text.read(path), version).items():
        with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
