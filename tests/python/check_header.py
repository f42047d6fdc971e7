# SPDX-License-Identifier: Apache-2.0
"""The package declares by hand what rondo.h says: types, reductions, statuses, functions."""
import ctypes
import pathlib
import re
import unittest

import rondo
import users
from rondo import _library, _types, errors

HEADER = (users.TREE / "runtime/include/rondo/rondo.h").read_text(encoding="utf-8")
CALLS = {name: parameters for name, parameters in re.findall(
    r"^RONDO_API rondo_status_t rondo_(\w+)\(([^;]*)\);", HEADER, re.M)}
OTHER_NAMES = {"float8_e4m3": "float8_e4m3fn"}  # as NumPy's extensions and PyTorch call it
POINTERS = ("rondo_comm_t", "rondo_stream_t", "rondo_request_t")


def constants(first, last):
    """Names and values of an enum."""
    text = HEADER[HEADER.index(f"  RONDO_{first} = "):]
    text = text[:re.search(rf"RONDO_{last} = \d+", text).end()]
    return [(name.lower(), int(value)) for name, value in re.findall(r"RONDO_(\w+) = (\d+)", text)]


def size_of(parameter):
    """Of an argument, as it is passed."""
    words = parameter.split()
    if "*" in parameter or words[0] in POINTERS or words[0] == "rondo_request_fn":
        return 8
    return {"size_t": 8, "int64_t": 8, "int": 4, "rondo_type_t": 4, "rondo_op_t": 4}[words[0]]


class Header(unittest.TestCase):
    def test_types(self):
        names = [(OTHER_NAMES.get(name, name), value) for name, value in constants("INT8", "BOOL")]
        self.assertEqual(list(_types.TYPE_CODES.items()), names)
        size = ctypes.c_size_t()
        for name, code in names:
            _library.check(_library.library().rondo_type_size(code, ctypes.byref(size)))
            self.assertEqual(_types.TYPE_BYTES[name], size.value, name)

    def test_reductions(self):
        self.assertEqual(list(_types.OP_CODES.items()), constants("SUM", "LOGICAL_XOR"))

    def test_statuses(self):
        expected = {f"RONDO_{name.upper()}": value for name, value in constants("OK", "OUT_OF_MEMORY")}
        for not_an_error in ("RONDO_OK", "RONDO_IN_PROGRESS"):
            del expected[not_an_error]
        self.assertEqual({each.status_name: each.status for each in errors.CLASSES.values()}, expected)
        self.assertEqual({each.__name__ for each in errors.CLASSES.values()} - set(rondo.__all__), set())

    def test_functions(self):
        for name, declared in _library._PROTOTYPES.items():
            parameters = CALLS[name].split(",") if CALLS[name] != "void" else []
            self.assertEqual([ctypes.sizeof(each) for each in declared], [size_of(each) for each in parameters], name)

    def test_structures(self):
        fields = re.findall(r"^  (?:const )?[\w]+[ *]+(\w+);", HEADER[HEADER.index("/** Settings of a communicator."):
                            HEADER.index("} rondo_config_t;")], re.M)
        self.assertEqual([name for name, _ in _library.Config._fields_], fields)
