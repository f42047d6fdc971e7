# SPDX-License-Identifier: Apache-2.0
"""The code blocks of a document: which ones a reader runs, and which are marked as not to be run.

Indented blocks and fences marked sh are shell; one marked c or cpp is a program, which the next shell block compiles. A
fence without a language is the output of the shell block right before it; other languages are ignored.
'<!-- not run: REASON -->' before a block excludes it.
"""
import dataclasses
import re

MARK = re.compile(r"^\s*<!-- not run: (.+) -->$")
FENCE = re.compile(r"^```(\w*)$")
ITEM = re.compile(r"^(?:[-*] |\d+\. )")
PROGRAMS = {"c": "c", "cpp": "cc"}  # a fence's language, and how the name of its file ends


@dataclasses.dataclass
class Block:
    line: int          # 1-based number of its first line
    kind: str          # "sh", "c", "cpp", "" (output), or another language
    text: str
    section: str = ""  # the heading above it
    mark: str = ""     # why it is not run
    follows: bool = False  # only empty lines separate it from the block before


class BadDocument(Exception):
    pass


def blocks_of(text):
    lines = text.split("\n")
    found, section, mark, follows, indent, at = [], "", "", False, 4, 0
    while at < len(lines):
        line = lines[at]
        fence, end = FENCE.match(line), at
        if fence:
            end = next((i for i in range(at + 1, len(lines)) if lines[i] == "```"), None)
            if end is None:
                raise BadDocument(f"line {at + 1}: the fence has no end")
            block = Block(at + 2, fence[1], "\n".join(lines[at + 1:end]) + "\n")
        elif line.startswith(" " * indent) and (at == 0 or not lines[at - 1].strip() or MARK.match(lines[at - 1])):
            while end + 1 < len(lines) and (lines[end + 1].startswith(" " * indent) or not lines[end + 1].strip()):
                end += 1
            text = "\n".join(each[indent:] for each in lines[at:end + 1]).rstrip("\n") + "\n"
            block = Block(at + 1, "sh", text)
            if not mark and all(each.startswith("#") or not each for each in text.split("\n")):
                raise BadDocument(f"line {at + 1}: nothing to run in this block; a fence that says text may hold it")
        else:
            if MARK.match(line):
                if mark:
                    raise BadDocument(f"line {at + 1}: the mark before this one marks no block")
                mark = MARK.match(line)[1]
            elif line.strip():
                if mark:
                    raise BadDocument(f"line {at + 1}: the mark before this line marks no block")
                follows = False
                section = line.lstrip("# ") if line.startswith("#") else section
                # In a list item, a block is indented by two more columns.
                indent = 6 if ITEM.match(line) else 4 if not line.startswith(" ") else indent
            at += 1
            continue
        block.section, block.mark, block.follows = section, mark, follows
        found.append(block)
        mark, follows, at = "", True, end + 1
    if mark:
        raise BadDocument("the last mark marks no block")
    return found


def program_name(program, later):
    """The name of the file from which the next shell block in `later` that is run compiles `program`."""
    block = next((block for block in later if block.kind == "sh" and not block.mark), None)
    name = block and re.search(rf"(?:^|[\s/])(\w+\.{PROGRAMS[program.kind]})\b", block.text)
    if name:
        return name[1]
    raise BadDocument(f"line {program.line}: no shell block after this program compiles it")
