# SPDX-License-Identifier: Apache-2.0
"""Files and names that come from other programs, and may be anything."""

MAX_NUMBER = 2**64 - 1


class BadFile(Exception):
    """What is wrong with a file, and where in it."""


def printable(text):
    """Names must not reach a terminal as they are."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def quoted(text):
    return f"'{printable(text)}'"
