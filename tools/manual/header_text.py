# SPDX-License-Identifier: Apache-2.0
"""A header of the C API as data: its sections, and what is declared in each with its comment."""
import dataclasses
import os
import re

SECTION = re.compile(r"^/\*\* @name ([^\n]+)\n(.*?)@\{ \*/\n(.*?)^/\*\* @\} \*/$", re.M | re.S)
FUNCTION = re.compile(r"^RONDO_API [^;(]*?\b(rondo_\w+)\(", re.M)


@dataclasses.dataclass
class Declared:
    comment: str
    code: str

    @property
    def functions(self):
        return FUNCTION.findall(self.code)


@dataclasses.dataclass
class Section:
    title: str
    page: str
    comment: str
    declared: list

    @property
    def functions(self):
        return [name for one in self.declared for name in one.functions]


@dataclasses.dataclass
class Header:
    name: str     # "rondo/plan.h"
    page: str     # of the header itself
    summary: str
    comment: str
    sections: list


def plain(comment):
    """The text of a comment without its frame."""
    return "\n".join(re.sub(r"^ ?\*? ?", "", line).rstrip() for line in comment.split("\n")).strip()


def declared_in(body):
    found = []
    for chunk in re.split(r"^(?=/\*\*)", body, flags=re.M):
        match = re.match(r"/\*\*(.*?)\*/\s*(.*)", chunk, re.S)
        if match and match[2].strip():
            found.append(Declared(plain(match[1]), match[2].strip()))
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    stem = os.path.splitext(os.path.basename(path))[0]
    page = "rondo" if stem == "rondo" else "rondo_" + stem
    about = plain(re.search(r"/\*\*\n( \* @file.*?)\*/", text, re.S)[1])
    summary, _, comment = about.partition("@brief ")[2].partition("\n\n")
    sections = [Section(title, page + "_" + "_".join(re.findall(r"\w+", title.lower())), plain(comment_),
                        declared_in(body)) for title, comment_, body in SECTION.findall(text)]
    return Header(f"rondo/{stem}.h", page, summary.replace("\n", " "), comment, sections)
