# SPDX-License-Identifier: Apache-2.0
"""Ids of errors: every kind in the code has a row in the documents, and every row a kind."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/explain"))
import pages  # noqa: E402  pylint: disable=wrong-import-position

KINDS = "runtime/base/include/base/error_kinds.h"
STATUS = "runtime/base/include/base/status.h"
KIND_ROW = re.compile(r"^\s*X\((\w+), (\d+), (\w+)\)", re.M)
CODES = re.compile(r"^enum class Code \{$(.*?)^\};$", re.M | re.S)
CODE_ROW = re.compile(r"^\s*(\w+) = (\d+),", re.M)
USE = re.compile(r"\bErrorKind::(\w+)")
ID = re.compile(r"\bR\d{4}\b")
NO_ERRORS = {"Ok", "InProgress"}
READERS = ("runtime/", "transports/", "kernels/", "topology/")


def twice(names):
    return sorted({name for name in names if names.count(name) > 1})


def error_violations(files):
    kinds = KIND_ROW.findall(files[KINDS])
    codes = [(name, number) for name, number in CODE_ROW.findall(CODES.search(files[STATUS])[1])
             if name not in NO_ERRORS]
    ids = [f"R{int(number):04}" for _, number in codes] + [f"R{int(number):04}" for _, number, _ in kinds]
    used = {name for path, text in files.items() if path.startswith(READERS) and path.endswith((".h", ".cc"))
            for name in USE.findall(text)}
    try:
        rows = [row["id"] for row in pages.all_rows(lambda page: files[page]) if row["id"]]
    except pages.BadPage as bad:
        return [str(bad)]
    found = [f"{KINDS}: {one} is there twice" for one in twice(ids)]
    found += [f"{KINDS}: no code uses {name}" for name, *_ in kinds if name not in used]
    found += [f"{one} has several rows in the documents" for one in twice(rows)]
    found += [f"no document has a row of {one}" for one in sorted(set(ids) - set(rows))]
    found += [f"the documents have a row of {one}, which no error has" for one in sorted(set(rows) - set(ids))]
    found += [f"{path}: {one} is no error's id" for path, text in sorted(files.items()) if path.endswith(".md")
              for one in sorted(set(ID.findall(text)) - set(ids))]
    return found
