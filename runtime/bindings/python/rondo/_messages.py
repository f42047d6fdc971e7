# SPDX-License-Identifier: Apache-2.0
"""Sends and receives of a communicator, and requests for those that were started."""
from __future__ import annotations

import asyncio
import dataclasses
import itertools
import threading
from collections.abc import Callable, Generator
from ctypes import byref, c_void_p
from typing import Any

from rondo._arrays import View, read, written
from rondo._collectives import integer
from rondo._library import IN_PROGRESS, OK, REQUEST_FN, RawReceipt, check, library
from rondo._types import Array
from rondo.errors import RondoError, error_of

ANY_SOURCE = -1  # for recv(): from any rank
ANY_TAG = -1     # for recv(): with any tag
MAX_S = 10**9    # also stands for infinity
SLICE_MS = 100   # how long wait() leaves a signal, such as Ctrl-C, unhandled


@dataclasses.dataclass(frozen=True)
class Receipt:
    """What a receive matched."""
    source: int  # the rank that sent it
    tag: int     # its tag
    count: int   # elements


class Messages:
    """Messages with the same sender and tag arrive in the order sent. Arrays are those that view() describes; a message
    may be shorter than the array that receives it, and has a type of the same size."""
    __slots__ = ()
    _lib: Any
    _handle: c_void_p
    _run: Callable[..., None]
    _usable: Callable[[View, str], View]
    _keep: Callable[[RawReceipt], bool]

    def send(self, array: Array, dest: int, *, tag: int = 0) -> None:
        """Sends a message. May or may not return before it is received: ranks that send to one another start one of the
        messages by isend() or irecv().

        array: n elements; dest: the rank to send to, may be the caller; tag: at least 0
        """
        sent = self._usable(read(array, "array"), "array")
        self._run(self._lib.rondo_send, sent.address, sent.count, sent.type, integer(dest, "dest"), integer(tag, "tag"),
                  self._handle, None)

    def recv(self, array: Array, source: int = ANY_SOURCE, *, tag: int = ANY_TAG) -> Receipt | None:
        """Receives a message, and returns its Receipt; None while calls are prepared, whose `receipts` then have it.

        array: room for n elements; source: the rank to receive from, or ANY_SOURCE; tag: the tag, or ANY_TAG
        """
        received, raw = self._usable(written(array, "array"), "array"), RawReceipt()
        self._run(self._lib.rondo_recv, received.address, received.count, received.type, integer(source, "source"),
                  integer(tag, "tag"), self._handle, None, byref(raw))
        return None if self._keep(raw) else receipt_of(raw)

    def isend(self, array: Array, dest: int, *, tag: int = 0) -> Request:
        """Starts a send and returns its Request. The message progresses in the background. The array must not be
        written until the request is complete. Arguments as for send()."""
        sent = self._usable(read(array, "array"), "array")
        return self._started(self._lib.rondo_isend, sent, integer(dest, "dest"), integer(tag, "tag"), None)

    def irecv(self, array: Array, source: int = ANY_SOURCE, *, tag: int = ANY_TAG) -> Request:
        """Starts a receive and returns its Request. The array must not be accessed until the request is complete.
        Arguments as for recv()."""
        received = self._usable(written(array, "array"), "array")
        return self._started(self._lib.rondo_irecv, received, integer(source, "source"), integer(tag, "tag"),
                             RawReceipt())

    def _started(self, function, view, peer, tag, raw):
        free_abandoned()
        handle = c_void_p()
        receipt = () if raw is None else (byref(raw),)
        self._run(function, view.address, view.count, view.type, peer, tag, self._handle, *receipt, byref(handle))
        return Request(handle, view, raw)


class Pending:
    """What has been started, and completes by itself."""
    __slots__ = ()
    _handle: c_void_p | None
    _complete_or: Callable[[int], bool]
    _result: Callable[[], Receipt | None]

    def test(self) -> bool:
        """Whether it is complete. Raises RondoError if it has failed."""
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> Receipt | None:
        """Waits until it is complete; returns the Receipt of a receive, and otherwise None.

        timeout: seconds; None: until it is complete, which the communicator's timeout bounds
        Raises TimeoutError after that time, without affecting it, and RondoError if it has failed.
        """
        if timeout is not None and not (isinstance(timeout, (int, float)) and timeout >= 0):
            raise ValueError(f"timeout is {timeout!r}: it must be a number of seconds, at least 0, or None")
        left_ms = None if timeout is None else round(min(timeout, MAX_S) * 1000)
        while not self.test():
            if left_ms is not None and left_ms <= 0:
                raise TimeoutError(f"{self!r} is not complete after {timeout} s; it continues, and can be waited "
                                   "for again")
            now_ms = SLICE_MS if left_ms is None else min(SLICE_MS, left_ms)
            self._complete_or(library().rondo_request_wait(self._handle, now_ms))
            left_ms = None if left_ms is None else left_ms - now_ms
        return self._result()

    def __await__(self) -> Generator[Any, None, Receipt | None]:
        if not self.test():
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            _tell(self._handle, loop, future)
            yield from future
            self.test()
        return self._result()


class Request(Pending):
    """A send or receive that was started. Any thread may use it, and `await request` waits without blocking asyncio's
    loop. A request that is dropped does not end its message, and keeps the array's memory until that is complete."""
    __slots__ = ("_handle", "_view", "_raw", "_failure", "_complete", "__weakref__")

    def __init__(self, handle, view, raw):
        self._handle, self._view, self._raw = handle, view, raw
        self._complete = False
        self._failure: RondoError | None = None

    def __repr__(self):
        state = "failed" if self._failure else "complete" if self._complete else "in progress"
        return f"<rondo.Request of a {'send' if self._raw is None else 'receive'}, {state}>"

    def test(self) -> bool:
        """Whether the message is complete. Raises RondoError if it has failed."""
        return self._complete_or(library().rondo_request_query(self._handle)) if not self._complete else self._checked()

    def __del__(self):
        abandon(self._handle, self._view, self._raw)  # the view is None once the message is complete

    def _complete_or(self, status):
        """Notes what the library says; returns whether the message is complete."""
        if status == IN_PROGRESS:
            return False
        if status != OK:
            self._failure = error_of(status, library().rondo_last_error(None).decode(errors="replace"))
        self._complete, self._view = True, None
        return self._checked()

    def _checked(self):
        if self._failure is not None:
            raise self._failure
        return True

    def _result(self):
        return None if self._raw is None else receipt_of(self._raw)


def receipt_of(raw: RawReceipt) -> Receipt:
    """What the library has written there."""
    return Receipt(raw.source, raw.tag, raw.count)


# Handles of requests that are gone, with what their messages use until they are complete. Freed by later calls.
_abandoned: list[tuple[c_void_p, Any, Any]] = []
_freeing = threading.Lock()


def abandon(handle: c_void_p, *used: Any) -> None:
    """For a request that is going. used: by its messages, until they are complete"""
    _abandoned.append((handle, *used))


def free_abandoned() -> None:
    """Frees those that are complete."""
    if not _abandoned or not _freeing.acquire(blocking=False):
        return
    try:
        for _ in range(len(_abandoned)):
            entry = _abandoned.pop(0)
            if library().rondo_request_query(entry[0]) == IN_PROGRESS:
                _abandoned.append(entry)
            else:
                library().rondo_request_free(entry[0])
    finally:
        _freeing.release()


# Futures of asyncio, by the number that the library passes back.
_waiting: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = {}
_numbers = itertools.count(1)


def _tell(handle, loop, future):
    number = next(_numbers)
    _waiting[number] = loop, future
    try:
        check(library().rondo_request_tell(handle, _on_completion, number))
    except BaseException:
        del _waiting[number]
        raise


def _wake(future):
    if not future.done():
        future.set_result(None)


@REQUEST_FN
def _on_completion(_status, _text, number):
    """Runs on a thread of the library."""
    loop, future = _waiting.pop(number)
    try:
        loop.call_soon_threadsafe(_wake, future)
    except RuntimeError:
        pass  # the loop was closed, so nothing awaits the message any more
