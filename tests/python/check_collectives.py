# SPDX-License-Identifier: Apache-2.0
"""Every collective, in and out of place, with what each rank gets computed here in plain Python."""
import array
import functools
import operator
import unittest

from threads import run

SIZES = (1, 3, 4)
LENGTH = 6
SENTINEL = -77


def mine(rank, count):
    """The input of a rank: every element of every rank is another number."""
    return [1000 * rank + i for i in range(count)]


def ints(values):
    return array.array("q", values)


def room(count):
    return ints([SENTINEL] * count)


def summed(size, count):
    return [sum(mine(rank, count)[i] for rank in range(size)) for i in range(count)]


def joined(size, count):
    return [value for rank in range(size) for value in mine(rank, count)]


class Equal(unittest.TestCase):
    """Calls that move as many elements for each rank."""

    def everywhere(self, body):
        """body(comm) returns pairs of what was received and what was expected."""
        for size in SIZES:
            for rank, pairs in enumerate(run(size, body)):
                for got, expected in pairs:
                    self.assertEqual(list(got), expected, f"rank {rank} of {size}")

    def test_all_reduce(self):
        def body(comm):
            data, out = ints(mine(comm.rank, LENGTH)), room(LENGTH)
            self.assertIs(comm.all_reduce(data, out), out)
            yielded = [(data, mine(comm.rank, LENGTH)), (out, summed(comm.size, LENGTH))]
            self.assertIs(comm.all_reduce(data), data)
            return [*yielded[1:], (data, summed(comm.size, LENGTH))]
        self.everywhere(body)

    def test_scan_and_exscan(self):
        def body(comm):
            inclusive, exclusive = ints(mine(comm.rank, LENGTH)), room(LENGTH)
            comm.exscan(inclusive, exclusive)
            comm.scan(inclusive)
            before = summed(comm.rank, LENGTH) if comm.rank else [SENTINEL] * LENGTH
            return [(inclusive, summed(comm.rank + 1, LENGTH)), (exclusive, before)]
        self.everywhere(body)

    def test_reduce_to_every_root(self):
        def body(comm):
            pairs = []
            for root in range(comm.size):
                data, out = ints(mine(comm.rank, LENGTH)), room(LENGTH)
                at_root = comm.rank == root
                # What is read alone may be read-only, and where nothing is received nothing need be given.
                sent = memoryview(data).toreadonly()
                self.assertIs(comm.reduce(sent, out if at_root else None, root=root), out if at_root else None)
                pairs.append((out, summed(comm.size, LENGTH) if at_root else [SENTINEL] * LENGTH))
                comm.reduce(data, root=root)
                pairs.append((data, summed(comm.size, LENGTH) if at_root else mine(comm.rank, LENGTH)))
            return pairs
        self.everywhere(body)

    def test_broadcast_from_every_root(self):
        def body(comm):
            pairs = []
            for root in range(comm.size):
                data, out = ints(mine(comm.rank, LENGTH)), room(LENGTH)
                self.assertIs(comm.broadcast(data if comm.rank == root else None, out, root=root), out)
                pairs.append((out, mine(root, LENGTH)))
                comm.broadcast(data, root=root)
                pairs.append((data, mine(root, LENGTH)))
            return pairs
        self.everywhere(body)

    def test_all_gather_and_gather(self):
        def body(comm):
            everything, own = joined(comm.size, LENGTH), mine(comm.rank, LENGTH)
            out, block = room(comm.size * LENGTH), room(comm.size * LENGTH)
            self.assertIs(comm.all_gather(ints(own), out), out)
            block[comm.rank * LENGTH:(comm.rank + 1) * LENGTH] = ints(own)
            self.assertIs(comm.all_gather(block), block)
            pairs = [(out, everything), (block, everything)]
            for root in range(comm.size):
                if comm.rank != root:
                    self.assertIsNone(comm.gather(ints(own), root=root))
                    self.assertIsNone(comm.gather(ints(own), root=root))
                    continue
                out, block = room(comm.size * LENGTH), room(comm.size * LENGTH)
                self.assertIs(comm.gather(ints(own), out, root=root), out)
                block[root * LENGTH:(root + 1) * LENGTH] = ints(own)
                comm.gather(block, root=root)
                pairs += [(out, everything), (block, everything)]
            return pairs
        self.everywhere(body)

    def test_reduce_scatter(self):
        def body(comm):
            whole = comm.size * LENGTH
            data, out = ints(mine(comm.rank, whole)), room(LENGTH)
            own = slice(comm.rank * LENGTH, (comm.rank + 1) * LENGTH)
            self.assertIs(comm.reduce_scatter(data, out), out)
            comm.reduce_scatter(data)
            return [(out, summed(comm.size, whole)[own]), (data[own], summed(comm.size, whole)[own])]
        self.everywhere(body)

    def test_scatter_from_every_root(self):
        def body(comm):
            pairs = []
            for root in range(comm.size):
                whole = ints(mine(root, comm.size * LENGTH))
                own = list(whole[comm.rank * LENGTH:(comm.rank + 1) * LENGTH])
                out = room(LENGTH)
                self.assertIs(comm.scatter(whole if comm.rank == root else None, out, root=root), out)
                pairs.append((out, own))
                out = room(LENGTH)
                if comm.rank == root:
                    comm.scatter(whole, root=root)  # its own block stays in the array
                    pairs.append((whole, mine(root, comm.size * LENGTH)))
                else:
                    comm.scatter(None, out, root=root)
                    pairs.append((out, own))
            return pairs
        self.everywhere(body)

    def test_all_to_all(self):
        def body(comm):
            data, out = ints(mine(comm.rank, comm.size * LENGTH)), room(comm.size * LENGTH)
            expected = [value for rank in range(comm.size)
                        for value in mine(rank, comm.size * LENGTH)[comm.rank * LENGTH:(comm.rank + 1) * LENGTH]]
            self.assertIs(comm.all_to_all(data, out), out)
            comm.all_to_all(data)
            return [(out, expected), (data, expected)]
        self.everywhere(body)

    def test_empty_arrays(self):
        def body(comm):
            nothing = ints([])
            for call in (comm.all_reduce, comm.scan, comm.exscan, comm.reduce, comm.broadcast, comm.all_gather,
                         comm.gather, comm.reduce_scatter, comm.all_to_all):
                call(nothing)
            comm.scatter(nothing, ints([]))
            return []
        self.everywhere(body)

    def test_every_reduction(self):
        operations = {"sum": operator.add, "prod": operator.mul, "min": min, "max": max, "bit_and": operator.and_,
                      "bit_or": operator.or_, "bit_xor": operator.xor,
                      "logical_and": lambda a, b: int(bool(a) and bool(b)),
                      "logical_or": lambda a, b: int(bool(a) or bool(b)),
                      "logical_xor": lambda a, b: int(bool(a) != bool(b))}

        def body(comm):
            rows = [[0, 1 + rank, 6 + rank, rank % 2] for rank in range(comm.size)]
            pairs = []
            for op, combine in operations.items():
                if comm.size == 1:
                    continue  # nothing is combined
                data = ints(rows[comm.rank])
                comm.all_reduce(data, op=op)
                pairs.append((data, [functools.reduce(combine, column) for column in zip(*rows)]))
            data = array.array("d", rows[comm.rank])
            comm.all_reduce(data, op="avg")
            return [*pairs, (data, [sum(column) / comm.size for column in zip(*rows)])]
        self.everywhere(body)


class Varying(unittest.TestCase):
    """Calls with a length for each rank, contiguous and with gaps."""
    SIZE = 3
    COUNTS = [2, 0, 3]
    GAPS = [4, 0, 7]  # rank 0 begins at 4, rank 2 at 7

    def parts(self):
        return [mine(rank, count) for rank, count in enumerate(self.COUNTS)]

    def placed(self):
        whole = [SENTINEL] * 10
        for part, begin in zip(self.parts(), self.GAPS):
            whole[begin:begin + len(part)] = part
        return whole

    def test_gathers(self):
        def body(comm):
            own = self.parts()[comm.rank]
            packed, spread, within = room(5), room(10), room(10)
            self.assertIs(comm.all_gather_v(ints(own), packed, counts=self.COUNTS), packed)
            comm.all_gather_v(ints(own), spread, counts=self.COUNTS, displs=self.GAPS)
            begin = self.GAPS[comm.rank]
            within[begin:begin + len(own)] = ints(own)
            comm.all_gather_v(within, counts=self.COUNTS, displs=self.GAPS)
            self.assertEqual([list(packed), list(spread), list(within)],
                             [sum(self.parts(), []), self.placed(), self.placed()])
            for root in range(comm.size):
                if comm.rank != root:
                    self.assertIsNone(comm.gather_v(ints(own), root=root))
                    self.assertIsNone(comm.gather_v(ints(own), root=root))
                    continue
                out, within = room(10), room(10)
                comm.gather_v(ints(own), out, counts=self.COUNTS, displs=self.GAPS, root=root)
                within[begin:begin + len(own)] = ints(own)
                comm.gather_v(within, counts=self.COUNTS, displs=self.GAPS, root=root)
                self.assertEqual([list(out), list(within)], [self.placed(), self.placed()])
        run(self.SIZE, body)

    def test_scatters(self):
        def body(comm):
            expected = self.parts()[comm.rank]
            for root in range(comm.size):
                out = room(self.COUNTS[comm.rank])
                if comm.rank == root:
                    comm.scatter_v(ints(self.placed()), out, counts=self.COUNTS, displs=self.GAPS, root=root)
                else:
                    comm.scatter_v(None, out, root=root)
                self.assertEqual(list(out), expected)
        run(self.SIZE, body)

    def test_reduce_scatter(self):
        def body(comm):
            begin, count = sum(self.COUNTS[:comm.rank]), self.COUNTS[comm.rank]
            expected = summed(comm.size, 5)[begin:begin + count]
            data, out = ints(mine(comm.rank, 5)), room(count)
            comm.reduce_scatter_v(data, out, counts=self.COUNTS)
            comm.reduce_scatter_v(data, counts=self.COUNTS)
            self.assertEqual([list(out), list(data[begin:begin + count])], [expected, expected])
        run(self.SIZE, body)

    def test_all_to_all(self):
        def body(comm):
            # Rank r sends r + s elements to rank s: as many as it gets from there.
            counts = [comm.rank + other for other in range(comm.size)]
            begins = [sum(counts[:other]) for other in range(comm.size)]
            data, out = ints(mine(comm.rank, sum(counts))), room(sum(counts) + 3)
            expected = []
            for other in range(comm.size):
                theirs = [other + each for each in range(comm.size)]
                begin = sum(theirs[:comm.rank])
                expected += mine(other, sum(theirs))[begin:begin + theirs[comm.rank]]
            comm.all_to_all_v(data, out, send_counts=counts, recv_counts=counts,
                              recv_displs=[begin + 3 for begin in begins])
            self.assertEqual(list(out), [SENTINEL] * 3 + expected)
            comm.all_to_all_v(data, send_counts=counts)
            self.assertEqual(list(data), expected)
        run(self.SIZE, body)

    def test_what_is_wrong_is_named(self):
        def body(comm):
            data, out = ints([1, 2]), room(5)
            for kind, words, wrong in (
                    (ValueError, "counts has 2 numbers: it must have one for each of the 3 ranks", {"counts": [1, 2]}),
                    (ValueError, "counts[1] is -1", {"counts": [2, -1, 2]}),
                    (TypeError, "counts is None: it must be a sequence of integers", {"counts": None}),
                    (TypeError, "counts[1] is 'a': it must be an integer", {"counts": [2, "a", 1]}),
                    (ValueError, "out has 5 elements: the parts of the ranks end at 6", {"counts": [2, 2, 2]}),
                    (ValueError, "the parts of the ranks end at 7", {"counts": [2, 2, 1], "displs": [0, 2, 6]}),
                    (ValueError, "array has 2 elements: it must have 1, as counts says", {"counts": [1, 1, 1]})):
                with self.assertRaises(kind) as caught:
                    comm.all_gather_v(data, out, **wrong)
                self.assertIn(words, str(caught.exception))
            with self.assertRaisesRegex(ValueError, "array has 5 elements: it must have 3, the sum of counts"):
                comm.reduce_scatter_v(out, counts=[1, 1, 1])
            comm.barrier()
        run(self.SIZE, body)
