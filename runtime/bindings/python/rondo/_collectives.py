# SPDX-License-Identifier: Apache-2.0
"""The collectives of a communicator."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from ctypes import c_size_t
from typing import Any

from rondo._arrays import View, read, written
from rondo._types import Array, Op, op_code


def integer(value, name, lowest=-2**31, limit=2**31):
    """An argument that must be an int of C."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: it must be an integer") from None
    if not lowest <= number < limit:
        raise ValueError(f"{name} is {number}: it must be from {lowest} to {limit - 1}")
    return number


def same_type(send, recv):
    if send.type != recv.type:
        raise TypeError(f"out has elements of {recv.dtype}, and array of {send.dtype}")


def has_count(view, count, name, why=""):
    if view.count != count:
        raise ValueError(f"{name} has {view.count} elements: it must have {count}{why}")


class Lengths:
    """counts and displs of a call with a length for each rank."""

    def __init__(self, comm, counts, displs, names=("counts", "displs")):
        self.counts = self._list(comm, counts, names[0])
        self.displs = None if displs is None else self._list(comm, displs, names[1])
        self.c_counts = (c_size_t * comm.size)(*self.counts)
        self.c_displs = None if displs is None else (c_size_t * comm.size)(*self.displs)

    @staticmethod
    def _list(comm, numbers, name):
        try:
            numbers = list(numbers)
        except TypeError:
            raise TypeError(f"{name} is {numbers!r}: it must be a sequence of integers") from None
        if len(numbers) != comm.size:
            raise ValueError(f"{name} has {len(numbers)} numbers: it must have one for each of the {comm.size} ranks")
        return [integer(each, f"{name}[{rank}]", 0, 2**63) for rank, each in enumerate(numbers)]

    def begin(self, rank):
        """Where the part of a rank begins, in elements."""
        return sum(self.counts[:rank]) if self.displs is None else self.displs[rank]

    def check(self, view, name):
        """That all parts are in an array."""
        end = max((self.begin(rank) + count for rank, count in enumerate(self.counts) if count), default=0)
        if end > view.count:
            raise ValueError(f"{name} has {view.count} elements: the parts of the ranks end at {end}")


class Collectives:
    """Every rank of the communicator makes each of these calls, in the same order.

    Arrays are those that view() describes, of any shape; what counts is the number of elements, in C order, and their
    type. `size` is the number of ranks, and a block the elements of one rank. Without `out` a call works in place.
    A call returns the array with the result: `out`, or `array` itself; None where there is none.

    All raise TypeError or ValueError for arrays that they cannot use, and RondoError, or a class derived from it, if
    the call fails: Mismatch if ranks disagree, RemoteError if one has died, Timeout at the deadline, Aborted.
    """
    __slots__ = ()
    rank: int
    size: int
    _lib: Any
    _call: Callable[..., None]
    _usable: Callable[[View, str], View]

    def all_reduce(self, array: Array, out: Array = None, *, op: Op = "sum") -> Array:
        """Every rank gets the reduction over the ranks of each element.

        array: n elements; out: n elements
        op: "sum", "prod", "min", "max", "avg", "bit_and", "bit_or", "bit_xor", "logical_and", "logical_or",
          "logical_xor"
        """
        return self._reduced(self._lib.rondo_all_reduce, array, out, op)

    def scan(self, array: Array, out: Array = None, *, op: Op = "sum") -> Array:
        """Rank r gets the reduction of each element over ranks 0 to r, in that order.

        array: n elements; out: n elements; op: as all_reduce(), but not "avg"
        """
        return self._reduced(self._lib.rondo_scan, array, out, op)

    def exscan(self, array: Array, out: Array = None, *, op: Op = "sum") -> Array:
        """Rank r gets the reduction of each element over ranks 0 to r - 1. Rank 0's result is left unchanged.

        array: n elements; out: n elements; op: as all_reduce(), but not "avg"
        """
        return self._reduced(self._lib.rondo_exscan, array, out, op)

    def reduce(self, array: Array, out: Array = None, *, op: Op = "sum", root: int = 0) -> Array:
        """Like all_reduce(), with the result at the root only.

        array: n elements; out: n elements, root only; op: as all_reduce()
        """
        root = integer(root, "root")
        if self.rank != root:
            send = self._usable(read(array, "array"), "array")
            self._call(self._lib.rondo_reduce, send.address, None, send.count, send.type, op_code(op), root)
            return None
        send, recv, result = self._pair(array, out)
        self._call(self._lib.rondo_reduce, send.address, recv.address, send.count, send.type, op_code(op), root)
        return result

    def broadcast(self, array: Array, out: Array = None, *, root: int = 0) -> Array:
        """Every rank gets the root's array.

        array: n elements; read at the root only, elsewhere it may be None if there is an out
        out: n elements
        """
        root = integer(root, "root")
        if out is not None and self.rank != root:
            array = out
        send, recv, result = self._pair(array, out)
        self._call(self._lib.rondo_broadcast, send.address, recv.address, recv.count, recv.type, root)
        return result

    def all_gather(self, array: Array, out: Array = None) -> Array:
        """Every rank gets the arrays of all ranks, one after the other.

        array: n elements; in place: size * n, of which block `rank` is sent
        out: size * n elements
        """
        address, count, recv, result = self._gathered(array, out)
        self._call(self._lib.rondo_all_gather, address, recv.address, count, recv.type)
        return result

    def gather(self, array: Array, out: Array = None, *, root: int = 0) -> Array:
        """Like all_gather(), with the result at the root only.

        array: n elements; in place, at the root: size * n, of which block `root` is sent
        out: size * n elements, root only
        """
        root = integer(root, "root")
        if self.rank != root:
            send = self._usable(read(array, "array"), "array")
            self._call(self._lib.rondo_gather, send.address, None, send.count, send.type, root)
            return None
        address, count, recv, result = self._gathered(array, out)
        self._call(self._lib.rondo_gather, address, recv.address, count, recv.type, root)
        return result

    def reduce_scatter(self, array: Array, out: Array = None, *, op: Op = "sum") -> Array:
        """Rank r gets block r of the reduction over the ranks.

        array: size * n elements; out: n elements; in place: the result is block `rank` of the array
        op: as all_reduce()
        """
        send, count, address, result = self._scattered(array, out)
        self._call(self._lib.rondo_reduce_scatter, send.address, address, count, send.type, op_code(op))
        return result

    def scatter(self, array: Array, out: Array = None, *, root: int = 0) -> Array:
        """Rank r gets block r of the root's array.

        array: size * n elements at the root, ignored elsewhere
        out: n elements; may be None at the root, whose block then stays in the array
        """
        root = integer(root, "root")
        if self.rank != root:
            recv = self._usable(written(out, "out"), "out")
            self._call(self._lib.rondo_scatter, None, recv.address, recv.count, recv.type, root)
            return out
        send, count, address, result = self._scattered(array, out)
        self._call(self._lib.rondo_scatter, send.address, address, count, send.type, root)
        return result

    def all_to_all(self, array: Array, out: Array = None) -> Array:
        """Block r of the result is block `rank` of rank r's array.

        array: size * n elements; out: size * n elements
        """
        send, recv, result = self._pair(array, out)
        count = self._block(send, "array")
        self._call(self._lib.rondo_all_to_all, send.address, recv.address, count, send.type)
        return result

    def all_gather_v(self, array: Array, out: Array = None, *, counts: Sequence[int],
                     displs: Sequence[int] | None = None) -> Array:
        """Like all_gather(), with a length for each rank.

        array: counts[rank] elements; in place: all parts, of which the rank's own is sent
        out: the elements of rank r begin at element displs[r]
        counts: elements of each rank; displs: where they begin; None: one after the other
        """
        lengths = Lengths(self, counts, displs)
        address, _, recv, result = self._gathered_v(array, out, lengths)
        self._call(self._lib.rondo_all_gather_v, address, recv.address, lengths.c_counts, lengths.c_displs, recv.type)
        return result

    def gather_v(self, array: Array, out: Array = None, *, counts: Sequence[int] | None = None,
                 displs: Sequence[int] | None = None, root: int = 0) -> Array:
        """Like gather(), with a length for each rank.

        array: the elements of this rank; in place, at the root: all parts, of which the root's own is sent
        out, counts, displs: as all_gather_v(), root only
        """
        root = integer(root, "root")
        if self.rank != root:
            send = self._usable(read(array, "array"), "array")
            self._call(self._lib.rondo_gather_v, send.address, send.count, None, None, None, send.type, root)
            return None
        lengths = Lengths(self, counts, displs)
        address, count, recv, result = self._gathered_v(array, out, lengths)
        self._call(self._lib.rondo_gather_v, address, count, recv.address, lengths.c_counts, lengths.c_displs,
                   recv.type, root)
        return result

    def reduce_scatter_v(self, array: Array, out: Array = None, *, counts: Sequence[int], op: Op = "sum") -> Array:
        """Like reduce_scatter(), with a length for each rank; the parts are contiguous in rank order.

        array: the sum of counts elements; out: counts[rank] elements; in place: the result is the rank's own part
        op: as all_reduce()
        """
        lengths = Lengths(self, counts, None)
        send, _, address, result = self._scattered_v(array, out, lengths)
        has_count(send, sum(lengths.counts), "array", ", the sum of counts")
        self._call(self._lib.rondo_reduce_scatter_v, send.address, address, lengths.c_counts, send.type, op_code(op))
        return result

    def scatter_v(self, array: Array, out: Array = None, *, counts: Sequence[int] | None = None,
                  displs: Sequence[int] | None = None, root: int = 0) -> Array:
        """Like scatter(), with a length for each rank.

        array: the elements for rank r begin at element displs[r]; root only, ignored elsewhere
        out: the elements for this rank; may be None at the root
        counts: elements for each rank; displs: where they begin; None: one after the other; root only
        """
        root = integer(root, "root")
        if self.rank != root:
            recv = self._usable(written(out, "out"), "out")
            self._call(self._lib.rondo_scatter_v, None, None, None, recv.address, recv.count, recv.type, root)
            return out
        lengths = Lengths(self, counts, displs)
        send, count, address, result = self._scattered_v(array, out, lengths)
        self._call(self._lib.rondo_scatter_v, send.address, lengths.c_counts, lengths.c_displs, address, count,
                   send.type, root)
        return result

    def all_to_all_v(self, array: Array, out: Array = None, *, send_counts: Sequence[int],
                     recv_counts: Sequence[int] | None = None, send_displs: Sequence[int] | None = None,
                     recv_displs: Sequence[int] | None = None) -> Array:
        """Like all_to_all(), with a length for each pair of ranks.

        array: send_counts[r] elements for rank r begin at element send_displs[r]
        out: recv_counts[r] elements from rank r begin at element recv_displs[r]
        recv_counts: None: as send_counts, which is required in place
        """
        sent = Lengths(self, send_counts, send_displs, ("send_counts", "send_displs"))
        if recv_counts is None:
            recv_counts, recv_displs = send_counts, send_displs if recv_displs is None else recv_displs
        received = Lengths(self, recv_counts, recv_displs, ("recv_counts", "recv_displs"))
        send, recv, result = self._ends(array, out)
        sent.check(send, "array")
        received.check(recv, "array" if out is None else "out")
        self._call(self._lib.rondo_all_to_all_v, send.address, sent.c_counts, sent.c_displs, recv.address,
                   received.c_counts, received.c_displs, send.type)
        return result

    def barrier(self) -> None:
        """Returns once every rank has entered."""
        self._call(self._lib.rondo_barrier)

    # Both ends of a call.

    def _ends(self, array, out):
        """What is read, what is written, and the array to return."""
        if out is None:
            view = self._usable(written(array, "array"), "array")
            return view, view, array
        send = self._usable(read(array, "array"), "array")
        recv = self._usable(written(out, "out"), "out")
        same_type(send, recv)
        return send, recv, out

    def _pair(self, array, out):
        """_ends() of the same length."""
        ends = self._ends(array, out)
        has_count(ends[1], ends[0].count, "out", ", as array has")
        return ends

    def _reduced(self, function, array, out, op):
        send, recv, result = self._pair(array, out)
        self._call(function, send.address, recv.address, send.count, send.type, op_code(op))
        return result

    def _block(self, view, name):
        """Elements of a block."""
        count, rest = divmod(view.count, self.size)
        if rest:
            raise ValueError(f"{name} has {view.count} elements: it must have a multiple of {self.size}, "
                             "a block for each rank")
        return count

    def _gathered(self, array, out):
        """Address and number of what is sent, what is received, and the array to return."""
        send, recv, result = self._ends(array, out)
        if out is None:
            count = self._block(recv, "array")
            return recv.at(self.rank * count), count, recv, result
        has_count(recv, self.size * send.count, "out", f", {send.count} from each of the {self.size} ranks")
        return send.address, send.count, recv, result

    def _gathered_v(self, array, out, lengths):
        send, recv, result = self._ends(array, out)
        count = lengths.counts[self.rank]
        lengths.check(recv, "array" if out is None else "out")
        if out is None:
            return recv.at(lengths.begin(self.rank)), count, recv, result
        has_count(send, count, "array", ", as counts says")
        return send.address, count, recv, result

    def _scattered(self, array, out):
        """What is sent, number and address of what is received, and the array to return."""
        send, recv, result = self._ends(array, out)
        count = self._block(send, "array")
        if out is None:
            return send, count, send.at(self.rank * count), result
        has_count(recv, count, "out", ", a block of array")
        return send, count, recv.address, result

    def _scattered_v(self, array, out, lengths):
        send, recv, result = self._ends(array, out)
        count = lengths.counts[self.rank]
        lengths.check(send, "array")
        if out is None:
            return send, count, send.at(lengths.begin(self.rank)), result
        has_count(recv, count, "out", ", as counts says")
        return send, count, recv.address, result
