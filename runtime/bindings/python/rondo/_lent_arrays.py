# SPDX-License-Identifier: Apache-2.0
"""NumPy's arrays in memory that other ranks of the host read in place."""
import ctypes

from rondo._library import library

_CAPSULE_NAME = b"mem_handler"       # as NEP 49 has it
_SET_HANDLER = 304                   # PyDataMem_SetHandler, in the table of NumPy's C API
_FEATURES, _OLDEST = 211, 0x0F       # PyArray_GetNDArrayCFeatureVersion; NumPy 1.22

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def _numpy_table():
    """The functions of NumPy's C API, by their numbers."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # before NumPy 2
        from numpy.core import _multiarray_umath as core
    table = ctypes.cast(_pointer_of(core._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    if ctypes.PYFUNCTYPE(ctypes.c_uint)(table[_FEATURES])() < _OLDEST:
        raise ImportError("rondo.lend_arrays() needs NumPy 1.22 or later")
    return table


class LentArrays:
    """Ends what lend_arrays() began: by close(), or as a context manager at the end of the block."""

    def __init__(self):
        self._set = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_numpy_table()[_SET_HANDLER])
        self._before = self._set(_new_capsule(library().rondo_numpy_handler(), _CAPSULE_NAME, None))

    def close(self):
        """New arrays are in the memory that they were in before. Arrays that exist stay where they are."""
        if self._before is not None:
            self._set(self._before)
            self._before = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def lend_arrays() -> LentArrays:
    """Has NumPy allocate its arrays by rondo_malloc(), in this thread, or asyncio task, and in what it starts with its
    context. Ranks in other processes of the host then read arrays of 256 KiB or more in place, which saves a copy of
    every byte. It holds until the result is closed, or for good.

    Raises ImportError if NumPy is missing, or older than 1.22.
    """
    return LentArrays()
