# SPDX-License-Identifier: Apache-2.0
"""Exceptions for failed calls: one class for each status of rondo.h, with the library's own text.

Mistakes in arguments that are found before the library is called are TypeError or ValueError."""


class RondoError(RuntimeError):
    """A call failed. Its text names the rank, the call and the cause, and ends with an id for rondo-explain.

    status: the number in rondo.h, for example 5
    status_name: its name, for example "RONDO_REMOTE_ERROR"
    """
    status = -1
    status_name = ""


class InvalidArgument(RondoError, ValueError):
    """An argument is out of its range; nothing was done."""
    status, status_name = 1, "RONDO_INVALID_ARGUMENT"


class InvalidUsage(RondoError):
    """The call is not allowed in this state; nothing was done."""
    status, status_name = 2, "RONDO_INVALID_USAGE"


class SystemFailure(RondoError):
    """The operating system reported an error; the text says which."""
    status, status_name = 3, "RONDO_SYSTEM_ERROR"


class InternalError(RondoError):
    """A fault in Rondo itself."""
    status, status_name = 4, "RONDO_INTERNAL_ERROR"


class RemoteError(RondoError):
    """A peer died or left; the text names it."""
    status, status_name = 5, "RONDO_REMOTE_ERROR"


class Timeout(RondoError, TimeoutError):
    """The deadline passed; the text names the rank that did not answer."""
    status, status_name = 6, "RONDO_TIMEOUT"


class Mismatch(RondoError):
    """Ranks disagree about a call; the text names both calls."""
    status, status_name = 7, "RONDO_MISMATCH"


class Aborted(RondoError):
    """Some rank called abort()."""
    status, status_name = 8, "RONDO_ABORTED"


class Unsupported(RondoError):
    """Legal, but this build cannot do it."""
    status, status_name = 10, "RONDO_UNSUPPORTED"


class OutOfMemory(RondoError, MemoryError):
    """Out of memory."""
    status, status_name = 11, "RONDO_OUT_OF_MEMORY"


CLASSES = {each.status: each for each in (InvalidArgument, InvalidUsage, SystemFailure, InternalError, RemoteError,
                                          Timeout, Mismatch, Aborted, Unsupported, OutOfMemory)}


def error_of(status, text):
    """The exception for a status other than RONDO_OK and RONDO_IN_PROGRESS."""
    kind = CLASSES.get(status, RondoError)
    error = kind(text or f"status {status}")
    error.status = status
    return error
