# SPDX-License-Identifier: Apache-2.0
"""Which arrays calls take, as which type, and what they say to others. Producers of DLPack and CUDA arrays are made by
hand here; check_producers.py has real ones."""
import array
import ctypes
import struct
import unittest

import rondo
from rondo import _dlpack
from threads import run

BY_FORMAT = {"b": "int8", "B": "uint8", "h": "int16", "H": "uint16", "i": "int32", "I": "uint32", "q": "int64",
             "Q": "uint64", "f": "float32", "d": "float64"}


class Tensor:
    """A producer of DLPack: `count` elements of `code` and `bits`, at `data`."""

    def __init__(self, data, count, code, bits, *, device=(1, 0), strides=None, flags=None, lanes=1, major=1, offset=0):
        self.device = device
        self.shape = (ctypes.c_int64 * 1)(count)
        self.strides = None if strides is None else (ctypes.c_int64 * 1)(*strides)
        tensor = _dlpack.DLTensor(data, *device, 1, code, bits, lanes, self.shape, self.strides, offset)
        self.struct = tensor if flags is None else _dlpack.Versioned(major, 0, None, None, flags, tensor)
        self.name = ctypes.create_string_buffer(b"dltensor" if flags is None else b"dltensor_versioned")
        self.asked = []

    def __dlpack_device__(self):
        return self.device

    # A capsule keeps the pointer to its name, so the name lives here.
    def __dlpack__(self, **options):
        self.asked.append(options)
        if "max_version" in options and self.name.value == b"dltensor":
            raise TypeError("unexpected keyword argument 'max_version'")
        new = ctypes.PyDLL(None).PyCapsule_New
        new.argtypes, new.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p], ctypes.py_object
        return new(ctypes.addressof(self.struct), ctypes.addressof(self.name), None)


class OnGpu:
    def __init__(self, **more):
        self.__cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (4096, False), "version": 3, **more}


class Buffers(unittest.TestCase):
    def test_types_of_buffers(self):
        for code, dtype in BY_FORMAT.items():
            self.assertEqual(rondo.view(array.array(code, [1, 2])).dtype, dtype)
        self.assertEqual(rondo.view(array.array("l", [1])).dtype, f"int{8 * struct.calcsize('l')}")
        for exporter, dtype in ((bytearray(2), "uint8"), (b"ab", "uint8"), ((ctypes.c_float * 2)(), "float32"),
                                ((ctypes.c_bool * 2)(), "bool"), (ctypes.create_string_buffer(2), "uint8"),
                                (memoryview(bytearray(2)).cast("?"), "bool"),
                                (memoryview(bytearray(2)).cast("c"), "uint8")):
            made = rondo.view(exporter)
            self.assertEqual((made.dtype, made.count), (dtype, 2))

    def test_other_types_are_refused_by_name(self):
        class Point(ctypes.Structure):
            _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]
        big = ctypes.c_int32.__ctype_be__ * 2
        for exporter, words in (((Point * 2)(), "array has elements of format 'T{"),
                                ((ctypes.py_object * 2)(), "array has elements of format '<O'"),
                                ((ctypes.c_longdouble * 2)(), "array has elements of format '<g'"),
                                (big(), "byte order is not this machine's"),
                                ([1, 2], "array is a list: it must be an array with the buffer protocol"),
                                (None, "array is a NoneType"), (3, "array is a int"), ("text", "array is a str")):
            with self.assertRaises(TypeError) as caught:
                rondo.view(exporter)
            self.assertIn(words, str(caught.exception))

    def test_shape_does_not_count(self):
        square = memoryview(array.array("i", range(6))).cast("B").cast("i", (2, 3))
        self.assertEqual(rondo.view(square).count, 6)

    def test_gaps_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"array is not C-contiguous \(shape \(2,\), strides \(8,\)\)"):
            rondo.view(memoryview(array.array("i", range(4)))[::2])

    def test_released_memory_is_refused(self):
        released = memoryview(bytearray(4))
        released.release()
        with self.assertRaisesRegex(ValueError, "array cannot be used: .*released"):
            rondo.view(released)

    def test_a_view_keeps_its_memory(self):
        data = bytearray(8)
        for exporter in (data, memoryview(data).toreadonly()):
            kept = rondo.view(exporter)
            with self.assertRaises(BufferError):
                data.append(1)
            del kept
        del exporter
        data.append(1)

    def test_bytes_as_another_type(self):
        made = rondo.view(array.array("H", [0x3f80, 0x4000]), dtype="bfloat16")
        self.assertEqual((made.dtype, made.count, made.itemsize, made.nbytes), ("bfloat16", 2, 2, 4))
        self.assertEqual(repr(made), "<rondo.View of 2 bfloat16 on the host>")
        with self.assertRaisesRegex(ValueError, "array has 3 bytes, which is no whole number of float32"):
            rondo.view(bytearray(3), dtype="float32")
        with self.assertRaisesRegex(TypeError, "dtype is 'float23': it must be one of int8, "):
            rondo.view(bytearray(3), dtype="float23")

    def test_small_floats_are_reduced(self):
        def body(comm):
            data = array.array("H", [0x3f80, 0x4000])  # 1, 2
            comm.all_reduce(rondo.view(data, dtype="bfloat16"))
            self.assertEqual(list(data), [0x4000, 0x4080])  # 2, 4
        run(2, body)


class Exchange(unittest.TestCase):
    def setUp(self):
        self.data = (ctypes.c_uint8 * 64)()
        self.address = ctypes.addressof(self.data)

    def tensor(self, *arguments, **more):
        return Tensor(self.address, *arguments, **more)

    def test_types(self):
        for code, bits, dtype in ((0, 32, "int32"), (1, 8, "uint8"), (2, 16, "float16"), (2, 64, "float64"),
                                  (4, 16, "bfloat16"), (5, 64, "complex64"), (5, 128, "complex128"), (6, 8, "bool"),
                                  (10, 8, "float8_e4m3fn"), (12, 8, "float8_e5m2")):
            for flags in (None, 0):
                made = rondo.view(self.tensor(3, code, bits, flags=flags))
                self.assertEqual((made.dtype, made.count, made.writable), (dtype, 3, True))
                self.assertEqual(made.address.value, self.address)
        for code, bits, lanes in ((8, 8, 1), (2, 128, 1), (0, 4, 1), (2, 32, 4), (3, 64, 1)):
            with self.assertRaisesRegex(TypeError, f"DLPack's type {code} with {bits} bits and {lanes} lanes"):
                rondo.view(self.tensor(2, code, bits, lanes=lanes))

    def test_the_offset_counts(self):
        self.assertEqual(rondo.view(self.tensor(2, 0, 32, offset=8)).address.value, self.address + 8)

    def test_gaps_flags_and_versions(self):
        self.assertEqual(rondo.view(self.tensor(4, 0, 32, strides=[1])).count, 4)
        self.assertEqual(rondo.view(self.tensor(1, 0, 32, strides=[9])).count, 1)
        self.assertEqual(rondo.view(self.tensor(0, 0, 32, strides=[2])).count, 0)
        with self.assertRaisesRegex(ValueError, "not C-contiguous"):
            rondo.view(self.tensor(4, 0, 32, strides=[2]))
        self.assertFalse(rondo.view(self.tensor(4, 0, 32, flags=1)).writable)
        with self.assertRaisesRegex(TypeError, "exchanged by DLPack 2.0"):
            rondo.view(self.tensor(4, 0, 32, flags=0, major=2))

    def test_producers_that_refuse(self):
        class Refuses(Tensor):
            def __dlpack__(self, **options):
                raise BufferError("this one requires grad")

        class Lies(Tensor):
            def __dlpack__(self, **options):
                return object()

        with self.assertRaisesRegex(ValueError, "array cannot be exchanged by DLPack: this one requires grad"):
            rondo.view(Refuses(self.address, 1, 0, 32))
        with self.assertRaisesRegex(TypeError, "returned no capsule"):
            rondo.view(Lies(self.address, 1, 0, 32))

    def test_memory_of_gpus_needs_one(self):
        on_gpu = self.tensor(4, 2, 32, device=(2, 1))
        self.assertEqual(rondo.view(on_gpu).device, "cuda:1")
        self.assertEqual([options["stream"] for options in on_gpu.asked], [1, 1])  # after the default stream's work
        self.assertEqual(rondo.view(self.tensor(4, 2, 32, device=(3, 0))).device, None)
        with self.assertRaisesRegex(ValueError, "its device is of DLPack's type 7: it must be in host memory"):
            rondo.view(self.tensor(4, 2, 32, device=(7, 0)))

        def body(comm):
            for made, place in ((on_gpu, "cuda:1"), (OnGpu(), "cuda")):
                for call in (comm.all_reduce, comm.all_gather, comm.scan, lambda each: comm.send(each, 0),
                             lambda each: comm.irecv(each, 0)):
                    with self.assertRaisesRegex(ValueError, f"array is in memory of {place}, and this rank uses no "):
                        call(made)
        run(1, body, device="host")

    def test_cuda_arrays(self):
        self.assertEqual(repr(rondo.view(OnGpu())), "<rondo.View of 4 float32 on cuda>")
        self.assertFalse(rondo.view(OnGpu(data=(4096, True))).writable)
        self.assertEqual(rondo.view(OnGpu(strides=(4,))).count, 4)
        for more, kind, words in (({"typestr": "|O8"}, TypeError, "format '|O8'"),
                                  ({"typestr": ">f4"}, TypeError, "byte order"),
                                  ({"strides": (8,)}, ValueError, "not C-contiguous"),
                                  ({"stream": 77}, ValueError, "still in use on stream 77")):
            with self.assertRaises(kind) as caught:
                rondo.view(OnGpu(**more))
            self.assertIn(words, str(caught.exception))


class Mistakes(unittest.TestCase):
    """Arguments that cannot be right are refused before anything is sent."""

    def test_they_are_named(self):
        def body(comm):
            ints, more = array.array("i", range(4)), array.array("i", range(6))
            for kind, words, call in (
                    (TypeError, "array is a list", lambda: comm.all_reduce([1, 2])),
                    (TypeError, "out is a tuple", lambda: comm.all_reduce(ints, (1, 2))),
                    (ValueError, "array is read-only, and the call writes to it", lambda: comm.all_reduce(b"abcd")),
                    (ValueError, "out is read-only", lambda: comm.all_gather(bytearray(2), b"abcd")),
                    (TypeError, "out has elements of float32, and array of int32",
                     lambda: comm.all_reduce(ints, array.array("f", range(4)))),
                    (ValueError, "out has 6 elements: it must have 4, as array has",
                     lambda: comm.all_reduce(ints, more)),
                    (ValueError, "out has 6 elements: it must have 8, 4 from each of the 2 ranks",
                     lambda: comm.all_gather(ints, more)),
                    (ValueError, "array has 5 elements: it must have a multiple of 2",
                     lambda: comm.reduce_scatter(bytearray(5))),
                    (ValueError, "out has 4 elements: it must have 3, a block of array",
                     lambda: comm.reduce_scatter(more, ints)),
                    (ValueError, "op is 'plus': it must be one of sum, ", lambda: comm.all_reduce(ints, op="plus")),
                    (ValueError, "op is []", lambda: comm.all_reduce(ints, op=[])),
                    (TypeError, "root is '0': it must be an integer", lambda: comm.broadcast(ints, root="0")),
                    (ValueError, "root is 4294967296: it must be from -2147483648 to 2147483647",
                     lambda: comm.broadcast(ints, root=2**32)),
                    (rondo.InvalidArgument, "root is 2", lambda: comm.broadcast(ints, root=2)),
                    (rondo.InvalidArgument, "root is -1", lambda: comm.gather(ints, root=-1)),
                    (rondo.InvalidArgument, "op bit_and is not defined for type float32",
                     lambda: comm.all_reduce(rondo.view(ints, dtype="float32"), op="bit_and")),
                    (rondo.InvalidArgument, "overlap",
                     lambda: comm.all_reduce(memoryview(ints)[:3], memoryview(ints)[1:])),
                    (TypeError, "out is a NoneType", lambda: comm.scatter(None, root=1 - comm.rank)),
                    (rondo.InvalidArgument, "peer is 2", lambda: comm.send(ints, 2)),
                    (rondo.InvalidArgument, "tag is -2", lambda: comm.isend(ints, 0, tag=-2)),
                    (TypeError, "dest is None: it must be an integer", lambda: comm.send(ints, None)),
                    (ValueError, "array is read-only", lambda: comm.recv(b"abcd")),
                    (ValueError, "timeout is 0: it must be more than 0", lambda: comm.set_timeout(0)),
                    (ValueError, "count is -1: it must be from 0", lambda: comm.explain("all_reduce", -1, "int8")),
                    (TypeError, "count is 1.5: it must be an", lambda: comm.explain("all_reduce", 1.5, "int8")),
                    (TypeError, "dtype is int: it must be one of", lambda: comm.explain("all_reduce", 4, int))):
                with self.assertRaises(kind, msg=words) as caught:
                    call()
                self.assertIn(words.replace("dtype is int", "dtype is <class 'int'>"), str(caught.exception))
            comm.all_reduce(ints)  # the communicator still works
            self.assertEqual(list(ints), [0, 2, 4, 6])
        run(2, body)
