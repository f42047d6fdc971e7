# SPDX-License-Identifier: Apache-2.0
"""Memory of arrays that are exchanged by DLPack (https://dmlc.github.io/dlpack/): where it is and what it holds. The
capsule is kept rather than consumed: what it stands for lives as long as the capsule does."""
import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

HOST_DEVICES = {1, 3, 11}  # CPU; memory of the host pinned by CUDA, by ROCm
CUDA_DEVICES = {2, 13}     # memory of a GPU; managed memory
KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex", 6: "bool"}
SMALL_FLOATS = {(4, 16): "bfloat16", (10, 8): "float8_e4m3fn", (12, 8): "float8_e5m2"}
NEWEST = (1, 1)            # the version of DLPack that this file knows
READ_ONLY = 1              # a flag
DEFAULT_STREAM = 1         # CUDA's legacy default stream, after whose work Rondo's calls run


class DLTensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32), ("ndim", c_int32),
                ("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned. Without a version, a DLManagedTensor begins with its DLTensor."""
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p), ("deleter", c_void_p),
                ("flags", c_uint64), ("tensor", DLTensor)]


_python = ctypes.PyDLL(None)
_pointer = _python.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = [ctypes.py_object, ctypes.c_char_p], c_void_p
_is_valid = _python.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


def device_of(array):
    """(type, number) in DLPack's terms."""
    kind, number = array.__dlpack_device__()
    return int(kind), int(number)


def capsule_of(array, on_gpu):
    more = {"stream": DEFAULT_STREAM} if on_gpu else {}
    try:
        return array.__dlpack__(max_version=NEWEST, **more)
    except TypeError:  # a producer from before DLPack 1.0
        return array.__dlpack__(**more)


def tensor_in(capsule, name):
    """The DLTensor in a capsule, and whether it may be written."""
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != NEWEST[0]:
            raise TypeError(f"{name} is exchanged by DLPack {versioned.major}.{versioned.minor}, and Rondo knows 1.x")
        return versioned.tensor, not versioned.flags & READ_ONLY
    if _is_valid(capsule, b"dltensor"):
        return DLTensor.from_address(_pointer(capsule, b"dltensor")), True
    raise TypeError(f"{name}.__dlpack__() returned no capsule of DLPack's")


def shape_of(tensor):
    """Its shape and strides; no strides: C order without gaps."""
    ndim, strides = tensor.ndim, tensor.strides
    return tensor.shape[:ndim], strides[:ndim] if strides else None


def is_contiguous(shape, strides):
    """Whether elements lie in C order without gaps. strides: in elements."""
    expected = 1
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length != 1 and stride != expected:
            return 0 in shape
        expected *= length
    return True
