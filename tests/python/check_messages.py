# SPDX-License-Identifier: Apache-2.0
"""Sends and receives, and requests: waited for, tested, awaited, dropped, failed."""
import array
import asyncio
import gc
import threading
import time
import unittest

import rondo
from rondo import _messages
from threads import run


def ints(*values):
    return array.array("q", values)


class Messages(unittest.TestCase):
    def test_blocking(self):
        def body(comm):
            if comm.rank == 0:
                comm.send(b"abc", 1, tag=7)
                comm.send(memoryview(ints(1, 2)).toreadonly(), 1, tag=8)
                return
            data, room = ints(0, 0, 0), bytearray(3)
            self.assertEqual(comm.recv(data, 0, tag=8), rondo.Receipt(source=0, tag=8, count=2))
            self.assertEqual(comm.recv(room), rondo.Receipt(source=0, tag=7, count=3))  # from any, with any tag
            self.assertEqual((list(data), room), ([1, 2, 0], b"abc"))
        run(2, body)

    def test_a_message_that_is_too_long(self):
        def body(comm):
            with self.assertRaises(rondo.Mismatch):
                if comm.rank == 0:
                    comm.send(ints(1, 2), 1)
                else:
                    comm.recv(ints(0), 0)
                comm.barrier()
        run(2, body)

    def test_requests_cross(self):
        def body(comm):
            other, count = 1 - comm.rank, 200_000  # far longer than what fits between the ranks
            data, got = array.array("q", [comm.rank]) * count, array.array("q", [-1]) * count
            receive, send = comm.irecv(got, other, tag=3), comm.isend(data, other, tag=3)
            self.assertEqual(receive.wait(), rondo.Receipt(other, 3, count))
            self.assertIsNone(send.wait(timeout=20))
            self.assertTrue(send.test() and receive.test())
            self.assertEqual(receive.wait(), rondo.Receipt(other, 3, count))  # again
            self.assertEqual((got[0], got[-1]), (other, other))
            self.assertEqual((repr(send), repr(receive)), ("<rondo.Request of a send, complete>",
                                                           "<rondo.Request of a receive, complete>"))
        run(2, body)

    def test_waiting_may_end_early(self):
        def body(comm):
            if comm.rank == 1:
                comm.barrier()
                comm.send(ints(5), 0)
                return
            data = ints(0)
            request = comm.irecv(data, 1)
            self.assertFalse(request.test())
            for timeout in (0, 0.05):
                with self.assertRaisesRegex(TimeoutError, f"not complete after {timeout} s; it continues") as caught:
                    request.wait(timeout)
                self.assertNotIsInstance(caught.exception, rondo.RondoError)
            for timeout in (-1, float("nan"), "1"):
                with self.assertRaisesRegex(ValueError, f"timeout is '?{timeout}'?: it must be a number of seconds"):
                    request.wait(timeout)
            comm.barrier()
            self.assertEqual(request.wait(float("inf")).count, 1)
            self.assertEqual(list(data), [5])
        run(2, body)

    def test_several_threads_wait(self):
        def body(comm):
            if comm.rank == 1:
                comm.barrier()
                comm.send(ints(5), 0)
                return
            request = comm.irecv(ints(0), 1)
            receipts = []
            waiters = [threading.Thread(target=lambda: receipts.append(request.wait())) for _ in range(4)]
            for each in waiters:
                each.start()
            comm.barrier()
            for each in waiters:
                each.join()
            self.assertEqual(receipts, [rondo.Receipt(1, 0, 1)] * 4)
        run(2, body)

    def test_a_failed_message_says_why_each_time(self):
        def body(comm):
            comm.set_timeout(0.2)
            request = comm.irecv(ints(0), 1 - comm.rank)
            for wait in (request.wait, request.test, request.wait):
                with self.assertRaises(rondo.Timeout) as caught:
                    wait()
                self.assertEqual((caught.exception.status, caught.exception.status_name), (6, "RONDO_TIMEOUT"))
                self.assertIsInstance(caught.exception, TimeoutError)
                self.assertIn(f"rank {comm.rank}", str(caught.exception))
            self.assertIn("failed", repr(request))
        run(2, body)

    def test_what_is_dropped_still_arrives(self):
        def body(comm):
            if comm.rank == 0:
                for value in range(50):
                    comm.isend(array.array("q", [value]) * 20_000, 1)  # neither the request nor the array is kept
                gc.collect()
                others = [array.array("q", [-2]) * 20_000 for _ in range(50)]  # where those would be, were they freed
                comm.barrier()
                until = time.monotonic() + 20
                while _messages._abandoned and time.monotonic() < until:
                    _messages.free_abandoned()
                self.assertEqual(_messages._abandoned, [])
                return len(others)
            comm.barrier()
            for value in range(50):
                data = array.array("q", [-1]) * 20_000
                comm.recv(data, 0)
                self.assertEqual({*data}, {value})
            return 50
        run(2, body)


class Awaited(unittest.TestCase):
    def test_the_loop_goes_on(self):
        def body(comm):
            async def pings():
                data, got = ints(comm.rank), ints(-1)
                send, receive = comm.isend(data, 1 - comm.rank), comm.irecv(got, 1 - comm.rank)
                beats = 0
                task = asyncio.ensure_future(_gathered(send, receive))
                while not task.done():
                    beats += 1
                    await asyncio.sleep(0)
                self.assertEqual(await task, [None, rondo.Receipt(1 - comm.rank, 0, 1)])
                self.assertEqual(await receive, rondo.Receipt(1 - comm.rank, 0, 1))  # again
                return list(got)
            return [asyncio.run(pings()) for _ in range(50)][-1]
        self.assertEqual(run(2, body), [[1], [0]])

    def test_many_at_once(self):
        async def exchange(comm):
            got = [ints(-1) for _ in range(200)]
            requests = [comm.irecv(each, 1 - comm.rank, tag=tag) for tag, each in enumerate(got)]
            requests += [comm.isend(ints(tag), 1 - comm.rank, tag=tag) for tag in reversed(range(200))]
            await _gathered(*requests)
            return [each[0] for each in got]
        self.assertEqual(run(2, lambda comm: asyncio.run(exchange(comm))), [list(range(200))] * 2)

    def test_giving_up_leaves_the_message(self):
        def body(comm):
            if comm.rank == 1:
                comm.barrier()
                comm.send(ints(5), 0)
                return
            data = ints(0)
            request = comm.irecv(data, 1)

            async def impatient():
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(_gathered(request), 0.05)
            asyncio.run(impatient())
            comm.barrier()  # the message completes when its loop is closed
            self.assertEqual(request.wait(), rondo.Receipt(1, 0, 1))
            self.assertEqual(list(data), [5])
        run(2, body)

    def test_failures_are_raised(self):
        async def fails(comm):
            with self.assertRaises(rondo.Aborted):
                await comm.irecv(ints(0), 1 - comm.rank)
            return True

        def body(comm):
            if comm.rank == 0:
                threading.Timer(0.1, comm.abort).start()
            return asyncio.run(fails(comm))
        self.assertEqual(run(2, body), [True, True])


async def _gathered(*requests):
    async def one(request):
        return await request
    return await asyncio.gather(*map(one, requests))
