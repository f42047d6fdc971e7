# SPDX-License-Identifier: Apache-2.0
"""The rows about messages in the documents: what rondo-explain knows, and what a test compares with the code."""
import re

PAGES = ("docs/troubleshooting.md", "docs/infiniband.md", "docs/plugin.md")
HEADING = re.compile(r"^#+ (.+)$")
ROW = re.compile(r"^\|(.*)\|$")
RULE = re.compile(r"^\|[-| ]+\|$")  # below the names of columns
PICTURE = re.compile(r"^\*\*(R\d{4})\*\*: (.+)$")
QUOTED = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\(([^)#]*)(?:#[^)]*)?\)")
FENCE = "```"


class BadPage(Exception):
    """What is wrong in a document, and in which."""


def plain(text, page):
    """Markdown as a terminal shows it, with the documents that links lead to."""
    def named(link):
        target = f"docs/{link[2]}" if link[2] else page
        return link[1] if target == page else f"{link[1]} ({target})"
    return LINK.sub(named, text).replace("`", "").strip()


def alternatives(cell):
    """The messages that a cell quotes, each a list of parts in their order: `a` ... `b` are two parts of one."""
    return [QUOTED.findall(message) for message in re.split(r"(?<=`),\s+", cell) if QUOTED.search(message)]


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def row_of(page, heading, columns, line):
    cells = [cell.strip() for cell in ROW.match(line)[1].split("|")]
    if len(cells) != len(columns):
        raise BadPage(f"{page}: {len(cells)} cells in the row of {cells[0]}: expected {len(columns)}")
    return {"id": cells[0], "quoted": alternatives(cells[1]), "page": f"{page}#{anchor(heading)}",
            "texts": {name: plain(cell, page) for name, cell in zip(columns[2:], cells[2:])}}


def picture_of(page, words, lines):
    """The block that follows the words."""
    if FENCE not in lines:
        raise BadPage(f"{page}: no picture follows '{words}'")
    drawn = lines[:lines.index(FENCE)]
    begin = next((i for i, line in enumerate(drawn) if line.startswith(FENCE)), len(drawn))
    return [plain(words, page), "", *drawn[begin + 1:]]


def rows_of(page, text):
    """Of one document: the rows of tables whose first column is the id, with the pictures that follow them."""
    heading, columns, rows, is_code, lines = "", None, [], False, text.splitlines()
    for at, line in enumerate(lines):
        is_code ^= line.startswith(FENCE)
        if is_code:
            continue
        if not ROW.match(line):
            columns = None
        elif columns is None:
            columns = [cell.strip() for cell in ROW.match(line)[1].split("|")]
        elif columns[0] == "id" and not RULE.match(line):
            rows.append(row_of(page, heading, columns, line))
        if found := HEADING.match(line):
            heading = found[1]
        if found := PICTURE.match(line):
            owners = [row for row in rows if row["id"] == found[1]]
            if not owners:
                raise BadPage(f"{page}: a picture of {found[1]}, which has no row before it")
            owners[0]["picture"] = picture_of(page, found[2], lines[at + 1:])
    return rows


def all_rows(read):
    """Of all documents; `read` returns the text of a path."""
    return [row for page in PAGES for row in rows_of(page, read(page))]
