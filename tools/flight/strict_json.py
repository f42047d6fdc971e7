# SPDX-License-Identifier: Apache-2.0
"""Reads JSON that may be cut off, or be none."""
import json

from strangers import BadFile


def parsed(data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadFile(f"line {line}: byte {error.start} of the file is not UTF-8") from None
    try:
        return json.loads(text, object_pairs_hook=pairs_of, parse_constant=not_a_number)
    except json.JSONDecodeError as error:
        cut_off = not text[error.pos:].strip() or error.msg.startswith("Unterminated")
        what = "the file is cut off here" if cut_off else f"this is not JSON: {error.msg}"
        raise BadFile(f"line {error.lineno}, column {error.colno}: {what}") from None
    except (RecursionError, ValueError) as error:
        raise BadFile(f"this is not a file of Rondo: {error}") from None


def pairs_of(pairs):
    names = dict(pairs)
    if len(names) != len(pairs):
        raise BadFile("an object has two fields of the same name")
    return names


def not_a_number(word):
    raise BadFile(f"{word} is not a number in JSON")
