# SPDX-License-Identifier: Apache-2.0
"""Element types and reductions of rondo.h, by name. Where a producer of arrays names a type in another way, the module
that reads from it translates."""
import sys
from typing import Any, Literal, get_args

Array = Any  # what view() describes
Op = Literal["sum", "prod", "min", "max", "avg", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or",
             "logical_xor"]

# In the order of rondo.h's constants.
TYPE_BYTES = {"int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
              "float16": 2, "bfloat16": 2, "float8_e4m3fn": 1, "float8_e5m2": 1, "float32": 4, "float64": 8,
              "complex64": 8, "complex128": 16, "bool": 1}
TYPE_NAMES = tuple(TYPE_BYTES)
TYPE_CODES = {name: code for code, name in enumerate(TYPE_NAMES)}
TYPE_SIZES = tuple(TYPE_BYTES.values())

OP_CODES = {name: code for code, name in enumerate(get_args(Op))}

# Letters of formats as in the module struct, by kind; sizes of integers depend on the prefix and the platform.
FORMAT_KINDS = {**dict.fromkeys("bhilqn", "int"), **dict.fromkeys("BHILQNc", "uint"), **dict.fromkeys("efdg", "float"),
                "?": "bool", "Zf": "complex", "Zd": "complex", "Zg": "complex", "F": "complex", "D": "complex"}
FOREIGN_ORDER = ">!" if sys.byteorder == "little" else "<"


def c_text(text, name):
    """A str as bytes of C, which end at the first null byte."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is {text!r}: it has no form in UTF-8") from None
    if b"\0" in encoded:
        raise ValueError(f"{name} is {text!r}: it must have no null character")
    return encoded


def type_code(dtype):
    """The constant of rondo.h for a type's name, such as "bfloat16"."""
    code = TYPE_CODES.get(dtype) if isinstance(dtype, str) else None
    if code is None:
        raise TypeError(f"dtype is {dtype!r}: it must be one of {', '.join(TYPE_NAMES)}")
    return code


def op_code(op):
    """The constant of rondo.h for a reduction's name."""
    try:
        return OP_CODES[op]
    except (KeyError, TypeError):
        raise ValueError(f"op is {op!r}: it must be one of {', '.join(OP_CODES)}") from None


def code_of_kind(kind, itemsize, name, described):
    """The type that is such as "float" and 4 bytes long."""
    code = TYPE_CODES.get("bool" if kind == "bool" and itemsize == 1 else f"{kind}{8 * itemsize}")
    if code is None:
        raise TypeError(f"{name} has elements of {described}: Rondo has {', '.join(TYPE_NAMES)}")
    return code


def check_order(text, itemsize, name):
    """Refuses a format whose byte order is not this machine's."""
    if text[0] in FOREIGN_ORDER and itemsize > 1:
        raise TypeError(f"{name} has elements of format '{text}', whose byte order is not this machine's")


def code_of_format(text, itemsize, name):
    """The type of a buffer with this format."""
    check_order(text, itemsize, name)
    return code_of_kind(FORMAT_KINDS.get(text.lstrip("@=<>!|")), itemsize, name, f"format '{text}'")
