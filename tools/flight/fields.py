# SPDX-License-Identifier: Apache-2.0
"""What an object in JSON must have: a table from names to types. A type in brackets may be null; a tuple lists what is
allowed."""
import json

from strangers import MAX_NUMBER, BadFile

WORDS = {str: "a text", int: "a whole number from -1 to 2^64 - 1", bool: "true or false", list: "a list",
         dict: "an object"}


def has_type(value, wanted):
    if isinstance(wanted, tuple):
        return type(value) in (str, int) and value in wanted
    if isinstance(wanted, list):
        return value is None or has_type(value, wanted[0])
    if type(value) is not wanted:  # pylint: disable=unidiomatic-typecheck
        return False
    return wanted is not int or -1 <= value <= MAX_NUMBER


def words_for(wanted):
    if isinstance(wanted, tuple):
        return "one of " + ", ".join(map(json.dumps, wanted))
    return words_for(wanted[0]) + ", or null" if isinstance(wanted, list) else WORDS[wanted]


def check(value, fields, where):
    """Checks that a value is an object with all these fields. More are allowed: later versions may add some."""
    if not isinstance(value, dict):
        raise BadFile(f"{where} is {shortened(value)}: it must be an object")
    for name, wanted in fields.items():
        if name not in value:
            raise BadFile(f"{where} has no \"{name}\"")
        if not has_type(value[name], wanted):
            raise BadFile(f"{where}.{name} is {shortened(value[name])}: it must be {words_for(wanted)}")


def shortened(value):
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
