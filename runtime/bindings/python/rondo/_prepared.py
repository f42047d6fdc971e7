# SPDX-License-Identifier: Apache-2.0
"""Calls that are prepared once and made again and again."""
from __future__ import annotations

from ctypes import byref, c_void_p
from typing import Any

from rondo._library import IN_PROGRESS, OK, check, library
from rondo._messages import Pending, Receipt, abandon, receipt_of
from rondo.errors import InvalidUsage, error_of


class Prepared(Pending):
    """The calls of a block `with comm.prepare() as step:`. run() makes them, also start() and wait(), any number of
    times. It keeps the memory of their arrays. `await step` waits for what was started without blocking asyncio's
    loop."""
    __slots__ = ("_comm", "_handle", "_views", "_raws", "__weakref__")

    def __init__(self, comm):
        """Not for users: Comm.prepare() makes it."""
        self._comm, self._handle = comm, None
        self._views: list[Any] = []
        self._raws: list[Any] = []

    def __repr__(self):
        return f"<rondo.Prepared{'' if self._handle else ', not yet'}: of {self._comm!r}>"

    def __enter__(self) -> Prepared:
        if self._handle is not None:
            raise InvalidUsage("these calls have been prepared: comm.prepare() begins others")
        self._comm._record(self)
        try:
            check(library().rondo_group_start())
        except BaseException:
            self._comm._record(None)
            raise
        return self

    def __exit__(self, kind: Any, _error: Any, _traceback: Any) -> None:
        self._comm._record(None)
        if kind is not None:
            library().rondo_group_cancel()
            return
        handle = c_void_p()
        status = library().rondo_group_prepare(byref(handle))
        if status != OK:
            error = error_of(status, library().rondo_last_error(None).decode(errors="replace"))
            library().rondo_group_cancel()  # of a group around this one
            raise error
        self._handle = handle

    def run(self) -> None:
        """Makes the calls, and returns when they are done."""
        self._comm._run(library().rondo_request_run, self._ready())

    def start(self) -> None:
        """Starts the calls, which progress in the background, and returns. They must be complete, as wait() or test()
        says, before they are started again."""
        self._comm._run(library().rondo_request_start, self._ready())

    def test(self) -> bool:
        """Whether the calls that were started are complete. Raises RondoError if they have failed."""
        return self._complete_or(library().rondo_request_query(self._ready()))

    @property
    def receipts(self) -> list[Receipt]:
        """What the receives among the calls matched last, in their order."""
        return [receipt_of(raw) for raw in self._raws]

    def __del__(self):
        if self._handle is not None:
            abandon(self._handle, self._views, self._raws)

    def _ready(self):
        if self._handle is None:
            raise InvalidUsage("there is nothing to be made before the block of comm.prepare() has ended")
        return self._handle

    def _complete_or(self, status):
        if status == IN_PROGRESS:
            return False
        check(status)
        return True

    def _result(self):
        return None
