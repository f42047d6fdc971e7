# SPDX-License-Identifier: Apache-2.0
"""Converts the compared float types between bytes and Python floats, which represent all of them exactly."""
import struct
import sys
from array import array
from dataclasses import dataclass
from typing import Callable


def rounded_to_bfloat16(values):
    """Rounds to nearest, ties to even."""
    words = array("I", array("f", values).tobytes())
    return array("H", ((word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words)).tobytes()


def from_bfloat16(data):
    return list(array("f", array("I", (half << 16 for half in array("H", data))).tobytes()))


@dataclass(frozen=True)
class Float:
    """The unit is half the distance from 1 to the next number: the maximum relative rounding error."""
    bits: int
    unit: float
    to_bytes: Callable
    from_bytes: Callable


FLOATS = {
    "float": Float(32, 2.0 ** -24, lambda values: array("f", values).tobytes(), lambda data: list(array("f", data))),
    "half": Float(16, 2.0 ** -11, lambda values: struct.pack(f"={len(values)}e", *values),
                  lambda data: list(struct.unpack(f"={len(data) // 2}e", data))),
    "bfloat16": Float(16, 2.0 ** -8, rounded_to_bfloat16, from_bfloat16),
}

if sys.byteorder != "little":
    raise ImportError("the upper half of a float32 is taken to come last in memory")
