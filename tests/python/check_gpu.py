# SPDX-License-Identifier: Apache-2.0
"""Arrays in memory of GPUs, as producers hand them out by DLPack and __cuda_array_interface__; over the tests' stand-in
for CUDA's driver, or a GPU."""
import array
import ctypes
import unittest

import rondo
from check_arrays import OnGpu, Tensor
from rondo._library import check, library
from threads import run

FLOAT = (2, 32)  # DLPack's


class Memory:
    """`values` as floats in memory of the rank's GPU, to which and from which messages of the rank to itself take
    them."""

    def __init__(self, comm, values):
        self.comm, self.count, address = comm, len(values), ctypes.c_void_p()
        allocate = library().rondo_cuda_mem_alloc
        allocate.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t, ctypes.c_int]
        check(allocate(address, 4 * self.count, comm.device))
        self.address = address.value
        self.move(array.array("f", values), self.by_dlpack())

    def move(self, source, target):
        received = self.comm.irecv(target, self.comm.rank, tag=77)
        self.comm.isend(source, self.comm.rank, tag=77).wait()
        received.wait()

    def values(self):
        got = array.array("f", bytes(4 * self.count))
        self.move(self.by_interface(), got)
        return list(got)

    def by_dlpack(self):
        return Tensor(self.address, self.count, *FLOAT, device=(2, self.comm.device))

    def by_interface(self):
        return OnGpu(shape=(self.count,), data=(self.address, False))


class Gpu(unittest.TestCase):
    def test_collectives(self):
        def body(comm):
            mine, everything = Memory(comm, [comm.rank + 1] * 4), Memory(comm, [0] * 8)
            comm.all_gather(mine.by_dlpack(), everything.by_interface())
            data = mine.by_interface()
            self.assertIs(comm.all_reduce(data), data)
            return mine.values(), everything.values()
        self.assertEqual(run(2, body, device="cuda:0"), [([3] * 4, [1] * 4 + [2] * 4)] * 2)

    def test_messages_between_host_and_gpu(self):
        def body(comm):
            if comm.rank == 0:
                comm.send(array.array("f", [5] * 4), 1)
                return None
            data = Memory(comm, [0] * 4)
            self.assertEqual(comm.recv(data.by_dlpack(), 0), rondo.Receipt(0, 0, 4))
            return data.values()
        self.assertEqual(run(2, body, device="cuda:0"), [None, [5] * 4])

    def test_a_rank_without_one(self):
        with rondo.init_all(1, device="host")[0] as comm:
            with self.assertRaisesRegex(ValueError, r'uses no GPU: init\(device="cuda"\) gives it one'):
                comm.all_reduce(OnGpu())
