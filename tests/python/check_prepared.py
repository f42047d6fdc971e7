# SPDX-License-Identifier: Apache-2.0
"""Prepared calls: made again and again, awaited, dropped, used wrongly."""
import array
import asyncio
import gc
import threading
import time
import unittest
import weakref

import rondo
from threads import run


def ints(*values):
    return array.array("q", values)


class Prepared(unittest.TestCase):
    def test_a_halo_again_and_again(self):
        def body(comm):
            right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
            for count in (1, 100_000):
                edge, halo, total = ints(0) * count, ints(0) * (count + 1), ints(0)
                with comm.prepare() as step:
                    comm.send(edge, right, tag=4)
                    self.assertIsNone(comm.recv(halo, left, tag=4))
                with comm.prepare() as add:
                    self.assertIs(comm.all_reduce(total), total)
                for number in range(12):
                    edge[0] = edge[-1] = comm.rank + number
                    total[0] = number
                    if number % 2:
                        step.start()
                        add.run()
                        self.assertIsNone(step.wait(timeout=20))
                    else:
                        add.start()
                        step.run()
                        add.wait()
                        self.assertTrue(add.test() and step.test())
                    self.assertEqual((halo[0], halo[count - 1], total[0]),
                                     (left + number, left + number, number * comm.size))
                    self.assertEqual(step.receipts, [rondo.Receipt(left, 4, count)])
                    self.assertEqual(add.receipts, [])
        for size in (1, 2, 3, 5):
            run(size, body)

    def test_every_collective(self):
        def body(comm):
            size, rank = comm.size, comm.rank
            own, every = ints(rank, 1), ints(*range(2 * size))
            summed, sent, scattered, reduced, scanned = (ints(0, 0) for _ in range(5))
            gathered, gathered_v, exchanged, at_root = (ints(0, 0) * size for _ in range(4))
            counts = [2] * size
            with comm.prepare() as calls:
                comm.all_reduce(own, summed)
                comm.broadcast(own, sent, root=1)
                comm.all_gather(own, gathered)
                comm.all_gather_v(own, gathered_v, counts=counts)
                comm.reduce_scatter(every, reduced)
                comm.all_to_all(every, exchanged)
                comm.gather(own, at_root, root=0)
                comm.scatter(every, scattered, root=0)
                comm.scan(own, scanned)
                comm.barrier()
            counts[:] = [1_000_000] * size
            for _ in range(3):
                calls.run()
                of_all = [value for r in range(size) for value in (r, 1)]
                self.assertEqual(list(summed), [sum(range(size)), size])
                self.assertEqual(list(sent), [1, 1])
                self.assertEqual((list(gathered), list(gathered_v)), (of_all, of_all))
                self.assertEqual(list(reduced), [2 * rank * size, (2 * rank + 1) * size])
                self.assertEqual(list(exchanged), [2 * rank, 2 * rank + 1] * size)
                self.assertEqual(list(at_root), of_all if rank == 0 else [0] * (2 * size))
                self.assertEqual(list(scattered), [2 * rank, 2 * rank + 1])
                self.assertEqual(list(scanned), [sum(range(rank + 1)), rank + 1])
        run(3, body)

    def test_await(self):
        def body(comm):
            value = ints(1)
            with comm.prepare() as double:
                comm.all_reduce(value)

            async def steps():
                for _ in range(5):
                    double.start()
                    await double
            asyncio.run(steps())
            self.assertEqual(value[0], 32)
        run(2, body)

    def test_arrays_live_as_long_as_the_calls(self):
        def body(comm):
            class Numbers(array.array):
                """With weak references."""
            data = Numbers("q", [comm.rank])
            alive = weakref.ref(data)
            with comm.prepare() as add:
                comm.all_reduce(data)
            del data
            gc.collect()
            self.assertIsNotNone(alive())
            add.run()
            self.assertEqual(alive()[0], 1)
            add.start()
            del add  # they go on, and keep the array
            for _ in range(4000):
                comm.prepare()  # which frees those that are complete
                if alive() is None:
                    return
                time.sleep(0.005)
            self.fail("the array was never freed")
        run(2, body)

    def test_misuse(self):
        def body(comm):
            value = ints(1)
            early = comm.prepare()
            for use in (early.run, early.start, early.test, early.wait):
                with self.assertRaisesRegex(rondo.InvalidUsage, "before the block of comm.prepare"):
                    use()
            with self.assertRaisesRegex(KeyError, "on purpose"), comm.prepare():
                comm.all_reduce(value)
                raise KeyError("on purpose")
            with self.assertRaisesRegex(rondo.InvalidUsage, "not allowed within a group"), comm.prepare():
                comm.isend(value, comm.rank)
            with self.assertRaisesRegex(rondo.InvalidUsage, "in a block of prepare"), comm.prepare(), comm.prepare():
                pass
            other = comm.duplicate()
            with self.assertRaisesRegex(rondo.InvalidUsage, "one communicator"), comm.prepare():
                comm.barrier()
                other.barrier()
            with self.assertRaisesRegex(rondo.InvalidUsage, "within a group"), comm.prepare(), other.prepare():
                other.barrier()
            with self.assertRaisesRegex(rondo.InvalidArgument, "none was prepared.*peer is 9"), comm.prepare():
                try:
                    comm.send(value, 9)
                except rondo.InvalidArgument:
                    pass
            comm.all_reduce(value)  # none of the groups is open
            self.assertEqual(value[0], 2)
            with other.prepare() as add:
                other.all_reduce(value)
            with self.assertRaisesRegex(rondo.InvalidUsage, "have been prepared"), add:
                pass
            add.start()
            with self.assertRaisesRegex(rondo.InvalidUsage, "have not been waited for"):
                add.start()
            add.wait()
            self.assertEqual(value[0], 4)
            other.destroy()
            for use in (add.run, add.start):
                with self.assertRaisesRegex(rondo.InvalidUsage, "destroyed"):
                    use()
            self.assertTrue(add.test())
        run(2, body)

    def test_an_abort(self):
        prepared = threading.Barrier(2)  # not of the communicator, whose abort could end it

        def body(comm):
            value = ints(1)
            with comm.prepare() as add:
                comm.all_reduce(value)
            prepared.wait(20)
            if comm.rank == 0:
                with self.assertRaises(rondo.Aborted):
                    add.start()
                    add.wait()
                for use in (add.run, add.start):
                    with self.assertRaises(rondo.Aborted):
                        use()
                return
            comm.abort()
        run(2, body)
