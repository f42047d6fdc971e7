# SPDX-License-Identifier: Apache-2.0
"""Arrays as calls use them: a View holds address, number and type of the elements, and keeps their memory."""
from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from ctypes import c_void_p

from rondo import _dlpack
from rondo._types import (TYPE_CODES, TYPE_NAMES, TYPE_SIZES, Array, check_order, code_of_format, code_of_kind,
                          type_code)

_BYTE = ctypes.c_char
# Arrays of these libraries never change, whatever their exchange of memory says.
_IMMUTABLE = {"jax", "jaxlib"}
_ARRAY_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex", "b": "bool"}  # of __cuda_array_interface__


class View:
    """The memory of an array, made by view(). Calls accept it wherever they accept an array, and do not look at the
    array again: with a view that is made once, calls on short arrays take less time. It keeps the array's memory."""
    __slots__ = ("address", "count", "type", "writable", "device", "_owner")

    def __init__(self, address, count, type, writable, device, owner):
        self.address = address    # c_void_p
        self.count = count        # elements
        self.type = type          # constant of rondo.h
        self.writable = writable
        self.device = device      # None: in host memory; otherwise such as "cuda:0"
        self._owner = owner       # keeps the memory

    @property
    def dtype(self) -> str:
        """The type of the elements, such as "float32"."""
        return TYPE_NAMES[self.type]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return TYPE_SIZES[self.type]

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.count * TYPE_SIZES[self.type]

    def __repr__(self):
        access = "" if self.writable else ", read-only"
        return f"<rondo.View of {self.count} {self.dtype} on {self.device or 'the host'}{access}>"

    def at(self, element):
        """The address of an element."""
        return c_void_p((self.address.value or 0) + element * TYPE_SIZES[self.type])


def view(array: Array, dtype: str | None = None) -> View:
    """The memory of an array, for calls that are made repeatedly, or for memory whose type its producer cannot name.

    array: a C-contiguous array of any shape: what has the buffer protocol (numpy.ndarray, array.array, bytearray,
      memoryview, ctypes arrays), DLPack (jax, cupy, torch), or __cuda_array_interface__ (numba)
    dtype: the type as which to take its bytes, such as "bfloat16" for an array of uint16; None: its own
    Raises TypeError or ValueError if the array cannot be used.
    """
    made = read(array, "array")
    if dtype is None:
        return made
    code = type_code(dtype)
    count, rest = divmod(made.nbytes, TYPE_SIZES[code])
    if rest:
        raise ValueError(f"array has {made.nbytes} bytes, which is no whole number of {dtype}: "
                         f"these have {TYPE_SIZES[code]} bytes each")
    return View(made.address, count, code, made.writable, made.device, made._owner)


def read(array: Array, name: str) -> View:
    """The view of an argument that is read. name: of the argument, for errors."""
    kind = type(array)
    if kind is View:
        return array
    reader = _readers.get(kind)
    if reader is None:
        reader = _readers[kind] = _reader_of(array)
    return reader(array, name)


_readers: dict[type, Callable[[Array, str], View]] = {}  # by type, as looking for attributes takes as long as a call


def _reader_of(array):
    """How to read arrays of this one's type."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        return _read_numpy
    if hasattr(array, "__dlpack_device__"):
        return _read_dlpack
    if hasattr(array, "__cuda_array_interface__"):
        return _read_cuda
    return _read_exporter


def written(array: Array, name: str) -> View:
    """The view of an argument that is written."""
    made = read(array, name)
    if not made.writable:
        raise ValueError(f"{name} is read-only, and the call writes to it")
    return made


# The buffer protocol.

class _PyBuffer(ctypes.Structure):
    """Py_buffer: its beginning is used, and the whole has room."""
    _fields_ = [("buf", c_void_p), ("rest", c_void_p * 15)]


_python = ctypes.PyDLL(None)
_get_buffer = _python.PyObject_GetBuffer
_get_buffer.argtypes, _get_buffer.restype = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int], ctypes.c_int
_release_buffer = _python.PyBuffer_Release
_release_buffer.argtypes, _release_buffer.restype = [ctypes.POINTER(_PyBuffer)], None


class _ReadOnlyBuffer:
    """The memory of a buffer that ctypes' own from_buffer() refuses, because it is read-only."""
    __slots__ = ("raw",)

    def __init__(self, buffer):
        self.raw = _PyBuffer()
        _get_buffer(buffer, self.raw, 0)

    def __del__(self):
        _release_buffer(self.raw)


def _read_exporter(array, name):
    try:
        buffer = memoryview(array)
    except TypeError:
        raise TypeError(f"{name} is a {type(array).__name__}: it must be an array with the buffer protocol "
                        "(numpy.ndarray, array.array, bytearray), DLPack (jax, cupy, torch) or "
                        "__cuda_array_interface__") from None
    except (BufferError, ValueError) as error:
        raise ValueError(f"{name} cannot be used: {error}") from error
    return _read_buffer(buffer, name)


def _read_buffer(buffer, name, type=None):
    if not buffer.c_contiguous:
        raise _not_contiguous(name, buffer.shape, buffer.strides)
    if type is None:
        type = _types_of_formats.get(buffer.format) or _type_of_buffer(buffer, name)
    nbytes, writable = buffer.nbytes, not buffer.readonly
    if nbytes == 0:
        return View(c_void_p(), 0, type, writable, None, buffer)
    if writable:
        owner = _BYTE.from_buffer(buffer)
        address = ctypes.addressof(owner)
    else:
        owner = _ReadOnlyBuffer(buffer)
        address = owner.raw.buf
    return View(c_void_p(address), nbytes // TYPE_SIZES[type], type, writable, None, owner)


_types_of_formats: dict[str, int] = {}


def _type_of_buffer(buffer, name):
    type = _types_of_formats[buffer.format] = code_of_format(buffer.format, buffer.itemsize, name)
    return type


def _not_contiguous(name, shape, strides):
    return ValueError(f"{name} is not C-contiguous (shape {tuple(shape)}, strides {tuple(strides)}): "
                      "pass a contiguous copy")


def _read_numpy(array, name):
    """Types that NumPy has by an extension, such as ml_dtypes.bfloat16, cannot be in buffers, but their bytes can."""
    try:
        return _read_buffer(memoryview(array), name)
    except ValueError as error:
        dtype = array.dtype
        if "in a buffer" not in str(error):
            raise
        if dtype.name not in TYPE_CODES:
            raise TypeError(f"{name} has elements of {dtype}: {error}") from error
    return _read_buffer(memoryview(array.view(f"u{dtype.itemsize}")), name, TYPE_CODES[dtype.name])


# DLPack.

def _read_dlpack(array, name):
    try:
        kind, number = _dlpack.device_of(array)
        on_gpu = kind in _dlpack.CUDA_DEVICES
        if not on_gpu and kind not in _dlpack.HOST_DEVICES:
            raise ValueError(f"its device is of DLPack's type {kind}: it must be in host memory or on a CUDA device")
        capsule = _dlpack.capsule_of(array, on_gpu)
    except (BufferError, RuntimeError, ValueError) as error:
        raise ValueError(f"{name} cannot be exchanged by DLPack: {error}") from error
    tensor, writable = _dlpack.tensor_in(capsule, name)
    shape, strides = _dlpack.shape_of(tensor)
    if strides and not _dlpack.is_contiguous(shape, strides):
        raise _not_contiguous(name, shape, strides)
    address = c_void_p((tensor.data or 0) + tensor.byte_offset)
    writable = writable and type(array).__module__.partition(".")[0] not in _IMMUTABLE
    place = f"cuda:{number}" if on_gpu else None
    return View(address, math.prod(shape), _type_of_tensor(tensor, name), writable, place, (capsule, array))


_types_of_tensors: dict[tuple[int, int, int], int] = {}


def _type_of_tensor(tensor, name):
    key = code, bits, lanes = tensor.code, tensor.bits, tensor.lanes
    type = _types_of_tensors.get(key)
    if type is None:
        small = _dlpack.SMALL_FLOATS.get((code, bits)) if lanes == 1 else None
        kind = _dlpack.KINDS.get(code) if lanes == 1 and bits % 8 == 0 else None
        type = TYPE_CODES[small] if small else code_of_kind(
            kind, bits // 8, name, f"DLPack's type {code} with {bits} bits and {lanes} lanes")
        _types_of_tensors[key] = type
    return type


# __cuda_array_interface__.

def _read_cuda(array, name):
    told = array.__cuda_array_interface__
    shape, text = told["shape"], told["typestr"]
    itemsize = int(text[2:])
    check_order(text, itemsize, name)
    type = code_of_kind(_ARRAY_KINDS.get(text[1]), itemsize, name, f"format '{text}'")
    strides = told.get("strides")
    if strides is not None and not _dlpack.is_contiguous(shape, [stride / itemsize for stride in strides]):
        raise _not_contiguous(name, shape, strides)
    if told.get("stream") not in (None, _dlpack.DEFAULT_STREAM):
        raise ValueError(f"{name} is still in use on stream {told['stream']}: synchronize that stream, and export "
                         "the array without one")
    address, read_only = told["data"]
    return View(c_void_p(address or None), math.prod(shape), type, not read_only, "cuda", array)
