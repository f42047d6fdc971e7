# SPDX-License-Identifier: Apache-2.0
"""librondo.so.0 by ctypes: found, opened at the first use, and its functions declared. Every call releases the GIL."""
import ctypes
import functools
import pathlib
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p

from rondo._build import VERSION
from rondo.errors import error_of

FILE = "librondo.so.0"
# Relative to this folder: in a wheel, in a build folder. Elsewhere it is where the loader finds it.
PLACES = ("", "../../../api")

OK, IN_PROGRESS = 0, 9
UNIQUE_ID_BYTES = 128


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * UNIQUE_ID_BYTES)]


class Config(ctypes.Structure):
    """rondo_config_t."""
    _fields_ = [("size", c_size_t), ("timeout_ms", c_int64), ("transport", c_char_p), ("algorithm", c_char_p),
                ("name", c_char_p), ("device", c_char_p), ("init_timeout_ms", c_int64), ("protocol", c_char_p),
                ("channels", c_int), ("traffic_class", c_int)]


class RawReceipt(ctypes.Structure):
    """rondo_receipt_t."""
    _fields_ = [("source", c_int), ("tag", c_int), ("count", c_size_t)]


REQUEST_FN = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)

_ONE, _TWO = (c_void_p,), (c_void_p, c_void_p)
_END = (c_void_p, c_void_p)                              # comm, stream
_SAME = (*_TWO, c_size_t, c_int)                         # sendbuf, recvbuf, count, type
_MESSAGE = (c_void_p, c_size_t, c_int, c_int, c_int, c_void_p)  # buf, count, type, peer, tag, comm
_PROTOTYPES = {
    "version": (POINTER(c_int),),
    "get_unique_id": (POINTER(UniqueId),),
    "init_rank": (POINTER(c_void_p), c_int, POINTER(UniqueId), c_int, POINTER(Config)),
    "init_all": (POINTER(c_void_p), c_int, POINTER(Config)),
    "init": (POINTER(c_void_p), c_char_p, POINTER(Config)),
    "split": (c_void_p, c_int, c_int, POINTER(c_void_p), POINTER(Config)),
    "duplicate": (c_void_p, POINTER(c_void_p)),
    "shrink": (c_void_p, POINTER(c_int), c_int, POINTER(c_void_p), POINTER(Config)),
    "finalize": _ONE, "destroy": _ONE, "leave": _ONE, "abort": _ONE,
    "set_timeout": (c_void_p, c_int64),
    "rank": (c_void_p, POINTER(c_int)), "size": (c_void_p, POINTER(c_int)), "device": (c_void_p, POINTER(c_int)),
    "gone_ranks": (c_void_p, POINTER(c_int), POINTER(c_int)),
    "async_error": (c_void_p, POINTER(c_int)),
    "current_device": (POINTER(c_int),),
    "type_size": (c_int, POINTER(c_size_t)),
    "last_algorithm": (c_void_p, POINTER(c_char_p)),
    "transport": (c_void_p, c_int, POINTER(c_char_p)),
    "explain": (c_void_p, c_char_p, c_size_t, c_int, c_int, c_int, POINTER(c_char_p)),
    "all_reduce": (*_SAME, c_int, *_END),
    "broadcast": (*_SAME, c_int, *_END),
    "reduce": (*_SAME, c_int, c_int, *_END),
    "all_gather": (*_SAME, *_END),
    "all_gather_v": (*_TWO, *_TWO, c_int, *_END),
    "reduce_scatter": (*_SAME, c_int, *_END),
    "reduce_scatter_v": (*_TWO, c_void_p, c_int, c_int, *_END),
    "all_to_all": (*_SAME, *_END),
    "all_to_all_v": (*_TWO, c_void_p, c_void_p, *_TWO, c_int, *_END),
    "gather": (*_SAME, c_int, *_END),
    "gather_v": (c_void_p, c_size_t, c_void_p, *_TWO, c_int, c_int, *_END),
    "scatter": (*_SAME, c_int, *_END),
    "scatter_v": (c_void_p, *_TWO, c_void_p, c_size_t, c_int, c_int, *_END),
    "scan": (*_SAME, c_int, *_END),
    "exscan": (*_SAME, c_int, *_END),
    "barrier": _END,
    "send": (*_MESSAGE, c_void_p),
    "recv": (*_MESSAGE, c_void_p, POINTER(RawReceipt)),
    "isend": (*_MESSAGE, POINTER(c_void_p)),
    "irecv": (*_MESSAGE, POINTER(RawReceipt), POINTER(c_void_p)),
    "request_wait": (c_void_p, c_int64),
    "request_query": _ONE,
    "request_tell": (c_void_p, REQUEST_FN, c_void_p),
    "request_free": _ONE,
    "group_start": (), "group_cancel": (),
    "group_prepare": (POINTER(c_void_p),),
    "request_start": _ONE, "request_run": _ONE,
    "write_flight_file": (c_char_p,),
}


def path():
    """The library's path, or its name if the loader searches for it."""
    folder = pathlib.Path(__file__).parent
    for place in PLACES:
        candidate = (folder / place / FILE).resolve()
        if candidate.is_file():
            return str(candidate)
    return FILE


def _version_of(text):
    major, minor, patch = (int(part) for part in text.split("."))
    return major * 10000 + minor * 100 + patch


@functools.cache
def library():
    """The library. ImportError if it is missing or of another version than this package."""
    try:
        found = ctypes.CDLL(path())
    except OSError as error:
        raise ImportError(f"rondo cannot load {FILE} ({error}): it is neither in the package nor where the loader "
                          "searches; set LD_LIBRARY_PATH to the folder in which it is installed") from error
    for name, arguments in _PROTOTYPES.items():
        function = getattr(found, "rondo_" + name)
        function.argtypes, function.restype = arguments, c_int
    found.rondo_last_error.argtypes, found.rondo_last_error.restype = [c_void_p], c_char_p
    found.rondo_numpy_handler.argtypes, found.rondo_numpy_handler.restype = [], c_void_p
    version = c_int()
    found.rondo_version(version)
    if version.value != _version_of(VERSION):
        raise ImportError(f"the package rondo is of version {VERSION}, and {path()} of another ({version.value}): "
                          "install both from the same tree")
    return found


def check(status, handle=None):
    """Raises the exception for a failed call. handle: the communicator of the call, if it has one."""
    if status != OK:
        raise error_of(status, library().rondo_last_error(handle).decode(errors="replace"))


def current_device():
    """The GPU that "cuda" means on this thread: its number, or -1 if this process sees none."""
    device = c_int()
    check(library().rondo_current_device(device))
    return device.value
