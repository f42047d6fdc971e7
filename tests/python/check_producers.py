# SPDX-License-Identifier: Apache-2.0
"""Arrays of the libraries that people use, as far as they are installed: NumPy, ml_dtypes, PyTorch, JAX."""
import importlib
import unittest

import rondo
from threads import run


def module(name):
    """The module; the test is skipped if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise unittest.SkipTest(f"{name} is not installed") from None


class NumPy(unittest.TestCase):
    def setUp(self):
        self.np = module("numpy")

    def test_types(self):
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
                      "float64", "complex64", "complex128", "bool"):
            made = rondo.view(self.np.zeros((2, 3), dtype))
            self.assertEqual((made.dtype, made.count, made.writable), (dtype, 6, True))

    def test_calls(self):
        np = self.np

        def body(comm):
            data = np.arange(6, dtype=np.complex64).reshape(2, 3) * (1 + comm.rank)
            self.assertIs(comm.all_reduce(data), data)
            everything = np.empty((2, 4), np.float32)
            comm.all_gather(np.full(4, comm.rank, np.float32), everything)
            comm.broadcast(scalar := np.array(comm.rank + 7.0))
            return data.tolist(), everything.tolist(), float(scalar)
        self.assertEqual(run(2, body), [([[0, 3, 6], [9, 12, 15]], [[0] * 4, [1] * 4], 7)] * 2)

    def test_what_is_refused(self):
        np = self.np
        frozen = np.zeros(3)
        frozen.flags.writeable = False
        with rondo.init_all(1)[0] as comm:
            for kind, words, wrong in (
                    (ValueError, "array is not C-contiguous (shape (3, 2), strides (8, 24))", np.zeros((2, 3)).T),
                    (ValueError, "array is not C-contiguous", np.zeros(6)[::2]),
                    (ValueError, "array is read-only", frozen), (ValueError, "array is read-only", np.float32(1)),
                    (ValueError, "not C-contig", np.broadcast_to(1., (3,))),
                    (TypeError, "array has elements of format 'O'", np.array([None])),
                    (TypeError, "array has elements of format '3s'", np.array([b"abc"])),
                    (TypeError, "array has elements of format 'g'", np.zeros(2, np.longdouble)),
                    (TypeError, "array has elements of datetime64", np.array(["2026-01-01"], "M8[D]")),
                    (TypeError, "array has elements of format 'T{", np.zeros(2, [("a", "i4"), ("b", "f4")])),
                    (TypeError, "byte order is not this machine's", np.zeros(2, np.dtype("f4").newbyteorder("S")))):
                with self.assertRaises(kind) as caught:
                    comm.all_reduce(wrong)
                self.assertIn(words, str(caught.exception))

    def test_small_floats(self):
        ml_dtypes = module("ml_dtypes")

        def body(comm):
            yielded = []
            for dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
                data = self.np.ones((2, 2), getattr(ml_dtypes, dtype))
                comm.all_reduce(data)
                self.assertEqual(rondo.view(data).dtype, dtype)
                yielded.append(data.astype(float).tolist())
            return yielded
        self.assertEqual(run(2, body), [[[[2, 2], [2, 2]]] * 3] * 2)
        with self.assertRaisesRegex(TypeError, "float8_e4m3b11fnuz"):
            rondo.view(self.np.ones(2, ml_dtypes.float8_e4m3b11fnuz))


class Torch(unittest.TestCase):
    def setUp(self):
        self.torch = module("torch")

    def test_types(self):
        for dtype in ("int8", "uint8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
                      "complex64", "complex128", "bool", "float8_e4m3fn", "float8_e5m2"):
            made = rondo.view(self.torch.zeros(2, 3).to(getattr(self.torch, dtype)))
            self.assertEqual((made.dtype, made.count, made.writable), (dtype, 6, True))

    def test_calls(self):
        torch = self.torch

        def body(comm):
            data = torch.ones(2, 3, dtype=torch.bfloat16)
            self.assertIs(comm.all_reduce(data), data)
            got = torch.zeros(3, dtype=torch.int64)
            comm.isend(torch.arange(3), 1 - comm.rank)
            receipt = comm.irecv(got, 1 - comm.rank).wait()
            comm.barrier()
            return data.tolist(), got.tolist(), receipt.count
        self.assertEqual(run(2, body), [([[2] * 3] * 2, [0, 1, 2], 3)] * 2)

    def test_what_is_refused(self):
        torch = self.torch
        for wrong, words in ((torch.zeros(2, 3).T, "not C-contiguous"),
                             (torch.zeros(1, requires_grad=True), "requires? grad"),
                             (torch.zeros(2, device="meta"), "array cannot be exchanged by DLPack: ")):
            with self.assertRaisesRegex(ValueError, words):
                rondo.view(wrong)


class Jax(unittest.TestCase):
    def test_read_alone(self):
        jnp = module("jax.numpy")
        np = module("numpy")
        data = jnp.arange(4, dtype=jnp.bfloat16)
        self.assertEqual((rondo.view(data).dtype, rondo.view(data).writable), ("bfloat16", False))

        def body(comm):
            out = np.empty(4, np.float32)
            comm.all_reduce(jnp.arange(4, dtype=jnp.float32), out)
            with self.assertRaisesRegex(ValueError, "array is read-only"):
                comm.all_reduce(data)
            return out.tolist()
        self.assertEqual(run(2, body), [[0, 2, 4, 6]] * 2)
