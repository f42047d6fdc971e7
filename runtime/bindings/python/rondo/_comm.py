# SPDX-License-Identifier: Apache-2.0
"""Communicators: how they are made, and how they end."""
from __future__ import annotations

import atexit
import contextlib
import os
import threading
import warnings
import weakref
from collections.abc import Iterable
from ctypes import byref, c_char_p, c_int, c_void_p, sizeof
from typing import Any


from rondo._collectives import Collectives, integer
from rondo._library import OK, UNIQUE_ID_BYTES, Config, UniqueId, check, library
from rondo._messages import Messages, free_abandoned
from rondo._prepared import Prepared
from rondo._types import Op, c_text, op_code, type_code
from rondo.errors import InvalidUsage, RondoError, error_of

NO_COLOR = -1  # for split(): no communicator for this rank
_THE_GONE = -1  # for rondo_shrink()
_alive: weakref.WeakSet[Comm] = weakref.WeakSet()


class Comm(Collectives, Messages):
    """A communicator: one rank's membership in a group of ranks. Made by init(), or from another by split(),
    duplicate() and shrink().

    As a context manager it is destroyed at the end; if an exception leaves the block, it is aborted first, so that
    other ranks' calls end at once. Only one thread at a time may make calls; abort(), set_timeout(), what asks for a
    fact, and calls on requests are for any thread at any time. Calls release the GIL. A signal, such as Ctrl-C, is
    handled when the call is over.

    rank: 0 to size - 1; size: number of ranks; device: number of the rank's CUDA device, -1: none
    """
    __slots__ = ("rank", "size", "device", "_handle", "_lib", "_busy", "_recorder", "__weakref__")
    rank: int
    size: int
    device: int

    def __init__(self, handle):
        """Not for users: init() makes communicators."""
        self._handle, self._lib, self._busy = handle, library(), threading.Lock()
        self._recorder: Prepared | None = None
        self.rank, self.size, self.device = self._queried("rank"), self._queried("size"), self._queried("device")
        _alive.add(self)

    def __repr__(self):
        ended = ", destroyed" if self._handle is None else ""
        return f"<rondo.Comm: rank {self.rank} of {self.size}{ended}>"

    def __enter__(self) -> Comm:
        return self

    def __exit__(self, kind: Any, error: Any, _traceback: Any) -> None:
        if kind is not None and not (kind is SystemExit and not error.code):
            with contextlib.suppress(RondoError):  # the exception says more
                if self.error is None:
                    self.abort()
                self._end(self._lib.rondo_destroy, wait=True)  # for a call of another thread, which ends now
            return
        self.destroy()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            name = repr(self)
            with contextlib.suppress(RondoError):
                self.leave()
            warnings.warn(f"{name} was never destroyed", ResourceWarning, source=self)

    def __reduce__(self):
        raise TypeError("a communicator cannot be pickled or copied: every process makes its own")

    # Making others.

    def split(self, color: int, key: int = 0, **config: Any) -> Comm | None:
        """Every rank calls it; ranks of the same color form one new communicator. Returns it, or None for NO_COLOR.

        color: at least 0, or NO_COLOR; key: orders the new ranks, ties are broken by the old rank
        config: as for init(); nothing given: that of this communicator
        """
        made = c_void_p()
        self._run(self._lib.rondo_split, self._handle, integer(color, "color"), integer(key, "key"), byref(made),
                  _config(config))
        return Comm(made) if made else None

    def duplicate(self) -> Comm:
        """Every rank calls it. Returns a communicator of the same ranks, whose calls never match those of this one."""
        made = c_void_p()
        self._run(self._lib.rondo_duplicate, self._handle, byref(made))
        return Comm(made)

    def shrink(self, excluded: Iterable[int] | None = None, **config: Any) -> Comm:
        """Returns a communicator of the remaining ranks, even after a rank has died or this communicator has failed.
        Every rank that is not excluded calls it, with the same list. This communicator must still be destroyed.

        excluded: ranks to leave out; None: those that have died or left; config: as for init()
        """
        ranks = [] if excluded is None else [integer(rank, "excluded") for rank in excluded]
        made = c_void_p()
        self._run(self._lib.rondo_shrink, self._handle, (c_int * max(1, len(ranks)))(*ranks),
                  _THE_GONE if excluded is None else len(ranks), byref(made), _config(config))
        return Comm(made)

    # Preparing calls.

    def prepare(self) -> Prepared:
        """For a block in which calls are prepared instead of made: all of them are then made at a time, and as often as
        wanted, also in the background. Sends and receives in it progress together, so their order does not matter.

            with comm.prepare() as halo:
                comm.send(edge, right)
                comm.recv(halo_points, left)
            for step in range(steps):
                halo.start()
                inner_points()
                halo.wait()         # or halo.run(), without the other two
        """
        free_abandoned()
        return Prepared(self)

    # Ending.

    def finalize(self) -> None:
        """Completes all calls and checks for messages that were never received; every rank calls it. Afterwards the
        communicator can only be destroyed."""
        self._run(self._lib.rondo_finalize, self._handle)

    def destroy(self) -> None:
        """Frees the communicator. Finalizes it first, unless it has failed. Does nothing if it was destroyed."""
        self._end(self._lib.rondo_destroy)

    def leave(self) -> None:
        """Frees the communicator without waiting for other ranks. Their calls that need this rank then fail."""
        self._end(self._lib.rondo_leave)

    def abort(self) -> None:
        """Ends all calls in flight, here and at every other rank, with Aborted. Any thread may call it. The
        communicator must still be destroyed."""
        self._ask(self._lib.rondo_abort)

    # Asking.

    @property
    def error(self) -> RondoError | None:
        """What has failed so far, as an exception: a peer's death, an abort; None: nothing."""
        status = c_int()
        self._ask(self._lib.rondo_async_error, byref(status))
        return None if status.value == OK else error_of(status.value, self._last_error())

    @property
    def gone_ranks(self) -> list[int]:
        """The ranks that are known here to have died or left, ascending."""
        ranks, count = (c_int * self.size)(), c_int()
        self._ask(self._lib.rondo_gone_ranks, ranks, byref(count))
        return ranks[:count.value]

    @property
    def last_algorithm(self) -> str:
        """The algorithm of the latest collective; "" before the first."""
        text = c_char_p()
        self._ask(self._lib.rondo_last_algorithm, byref(text))
        return _string(text)

    def transport(self, peer: int) -> str:
        """What joins this rank and another: "local", "shm", "tcp", ...; "self" for this rank."""
        text = c_char_p()
        self._ask(self._lib.rondo_transport, integer(peer, "peer"), byref(text))
        return _string(text)

    def explain(self, collective: str, count: int, dtype: str, *, op: Op = "sum", root: int = 0) -> str:
        """How a call on host memory would run, and why, as text. Sends nothing.

        collective: such as "all_reduce"; count: elements, as the collective counts them; dtype: such as "float32"
        """
        text = c_char_p()
        self._run(self._lib.rondo_explain, self._handle, c_text(str(collective), "collective"),
                  integer(count, "count", 0, 2**63), type_code(dtype), op_code(op), integer(root, "root"), byref(text))
        return _string(text)

    def set_timeout(self, timeout: float) -> None:
        """Changes the deadline of later calls. timeout: seconds, more than 0."""
        self._ask(self._lib.rondo_set_timeout, _milliseconds(timeout, "timeout"))

    # How calls are made.

    def _run(self, function, *arguments):
        """A call that no other thread may make at the same time."""
        if not self._busy.acquire(False):
            raise self._in_use()
        try:
            status = function(*arguments)
        finally:
            self._busy.release()
        if status != OK:
            self._fail(status)

    def _call(self, function, *arguments):
        """A collective: its last arguments are the communicator and no stream."""
        self._run(function, *arguments, self._handle, None)

    def _ask(self, function, *arguments):
        """A call that any thread may make at any time."""
        status = function(self._handle, *arguments)
        if status != OK:
            self._fail(status)

    def _end(self, function, wait=False):
        if not self._busy.acquire(wait):
            raise self._in_use()
        try:
            handle, self._handle = self._handle, None
            if handle is not None:
                check(function(handle))
        finally:
            self._busy.release()

    def _fail(self, status):
        if self._handle is None:
            raise self._destroyed()
        raise error_of(status, self._last_error())

    def _last_error(self):
        return self._lib.rondo_last_error(self._handle).decode(errors="replace")

    def _destroyed(self):
        return InvalidUsage(f"{self!r}: no more calls are allowed")

    def _in_use(self):
        return InvalidUsage(f"{self!r} is in a call of another thread: one thread at a time may use a communicator")

    def _queried(self, name: str) -> int:
        value = c_int()
        self._ask(getattr(self._lib, "rondo_" + name), byref(value))
        return value.value

    def _usable(self, view, name):
        """The view, unless it is in memory of a GPU and the rank has none."""
        if view.device is not None and self.device < 0:
            raise ValueError(f"{name} is in memory of {view.device}, and this rank uses no GPU: {no_gpu()}")
        if self._recorder is not None:
            self._recorder._views.append(view)
        return view

    def _keep(self, raw):
        """Whether the receipt belongs to a receive that is being prepared."""
        if self._recorder is not None:
            self._recorder._raws.append(raw)
        return self._recorder is not None

    def _record(self, recorder):
        """From now on calls are prepared for this; None: they are made."""
        if recorder is not None and self._recorder is not None:
            raise InvalidUsage(f"{self!r} is in a block of prepare() already")
        self._recorder = recorder


def _string(text):
    return text.value.decode(errors="replace")


# Configuration.

def _milliseconds(seconds, name):
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{name} is {seconds!r}: it must be a number of seconds")
    if not 0 < seconds < 2**53 / 1000:
        raise ValueError(f"{name} is {seconds!r}: it must be more than 0 seconds")
    return max(1, round(seconds * 1000))


def _config(settings):
    """The rondo_config_t for init()'s keyword arguments; None if there are none."""
    if not settings:
        return None
    config = Config(size=sizeof(Config))
    for name, value in settings.items():
        if value is None:
            continue
        if name in ("timeout", "init_timeout"):
            setattr(config, name + "_ms", _milliseconds(value, name))
        elif name in ("channels", "traffic_class"):
            setattr(config, name, integer(value, name))
        elif name not in ("transport", "algorithm", "name", "device", "protocol"):
            raise TypeError(f"there is no setting '{name}': the settings are timeout, init_timeout, transport, "
                            "algorithm, name, device, protocol, channels, traffic_class")
        elif not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}: it must be a str")
        else:
            setattr(config, name, c_text(value, name))
    return byref(config)


def init(method: str | None = None, **config: Any) -> Comm:
    """Joins the communicator of all processes of this job, and returns it once all have joined.

    method: how to find the others. None, or "env://": by the variables of rondo-run, torchrun, Open MPI, MPICH or
      Slurm; a process that was started alone is the only rank. "tcp://host:port?rank=R&size=N" or
      "file:///path?rank=R&size=N": rank and size are those of the environment if they are left out
    config: timeout (deadline of each call) and init_timeout, in seconds; transport, algorithm, name, device ("host",
      "cuda", "cuda:N"), protocol, channels, traffic_class as in rondo_config_t. What is left out is at its default,
      or as variables such as RONDO_TIMEOUT say
    """
    if method is not None and not isinstance(method, str):
        raise TypeError(f"method is {method!r}: it must be a str, such as \"tcp://host:port\", or None")
    comm = c_void_p()
    check(library().rondo_init(byref(comm), None if method is None else c_text(method, "method"), _config(config)))
    return Comm(comm)


def init_rank(rank: int, size: int, unique_id: bytes, **config: Any) -> Comm:
    """Joins a communicator, and returns it once all ranks have joined.

    rank: 0 to size - 1; size: number of ranks; unique_id: the bytes of unique_id(), the same at all ranks
    config: as for init()
    """
    if not isinstance(unique_id, bytes) or len(unique_id) != UNIQUE_ID_BYTES:
        raise ValueError(f"unique_id must be the {UNIQUE_ID_BYTES} bytes that unique_id() returned")
    comm = c_void_p()
    check(library().rondo_init_rank(byref(comm), integer(size, "size"), UniqueId.from_buffer_copy(unique_id),
                                    integer(rank, "rank"), _config(config)))
    return Comm(comm)


def unique_id() -> bytes:
    """Bytes by which ranks find and trust one another in init_rank(), to be sent to all of them: a password. The
    process that makes them must live until all ranks have joined. Each makes one communicator."""
    made = UniqueId()
    check(library().rondo_get_unique_id(byref(made)))
    return bytes(made)


def init_all(size: int, **config: Any) -> list[Comm]:
    """Makes a communicator whose ranks are all in this process, and returns the list of its ranks. Each is used by a
    thread of its own.

    size: number of ranks, at least 1; config: as for init()
    """
    comms = (c_void_p * max(1, integer(size, "size")))()
    check(library().rondo_init_all(comms, size, _config(config)))
    return [Comm(c_void_p(handle)) for handle in comms]


def write_flight_file(file: str | os.PathLike[str] | None = None) -> None:
    """Writes the latest 256 calls of each of this process's communicators to a file, for rondo-flight. Any thread.

    file: its path; %h in it stands for the host's name, %p for the process id, %r for the rank, %% for a percent sign;
      None: the file that RONDO_FLIGHT_FILE named when a communicator was last created
    """
    path = None if file is None else os.fsencode(file)
    if path is not None and b"\0" in path:
        raise ValueError(f"file is {file!r}: a path has no null bytes")
    check(library().rondo_write_flight_file(path))


def no_gpu():
    """Why ranks of this process have no GPU unless they request one, as a sentence."""
    try:
        init_all(1, device="cuda")[0].leave()
    except RondoError as error:
        return str(error)
    return "init(device=\"cuda\") gives it one"


@atexit.register
def _leave_all():
    """Tells other ranks that this one ends, so that they do not take it for dead."""
    for comm in list(_alive):
        try:
            comm.leave()
        except InvalidUsage:  # a daemon thread is in a call
            with contextlib.suppress(RondoError):
                comm.abort()
        except RondoError:
            pass  # it has failed before
