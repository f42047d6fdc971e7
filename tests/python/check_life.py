# SPDX-License-Identifier: Apache-2.0
"""How communicators are made and end: by launchers, ids, splits; by context managers, deaths, aborts and exits."""
import array
import copy
import gc
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import unittest.mock

import rondo
from threads import run
from users import TREE, environment

RUN = os.environ.get("RONDO_TEST_RUN", "rondo-run")


def python(text, *launcher, **variables):
    """Runs a program as its user does; returns exit code, and the lines of output in order of their ranks."""
    done = subprocess.run([*launcher, sys.executable, "-c", textwrap.dedent(text)], env=environment(**variables),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, sorted(done.stdout.splitlines())


class Launched(unittest.TestCase):
    def test_by_rondo_run(self):
        code, lines = python("""
            import array, rondo
            with rondo.init(name="job") as comm:
                data = array.array("d", [comm.rank + 1])
                comm.all_reduce(data)
                print(comm.rank, comm.size, data[0], repr(comm), comm.device)
            print(repr(comm))
            """, RUN, "-n", "3", RONDO_DEVICE="host")
        self.assertEqual((code, lines), (0, sorted(
            line for rank in range(3) for line in (f"[{rank}] {rank} 3 6.0 <rondo.Comm: rank {rank} of 3> -1",
                                                   f"[{rank}] <rondo.Comm: rank {rank} of 3, destroyed>"))))

    def test_the_example_with_any_number_of_ranks(self):
        example = TREE / "examples" / "python" / "halo.py"
        for size in (1, 2, 5):
            done = subprocess.run([RUN, "-n", str(size), sys.executable, example], env=environment(), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
            self.assertEqual(done.stdout, f"[0] {250 * size} cells: total heat 1.000000000, hottest cell 0.039869\n")

    def test_alone(self):
        self.assertEqual(python("import rondo; comm = rondo.init(); print(comm); comm.destroy(); comm.destroy()"),
                         (0, ["<rondo.Comm: rank 0 of 1>"]))

    def test_a_launcher_that_says_nonsense(self):
        code, lines = python("""
            import rondo
            try:
                rondo.init()
            except rondo.RondoError as error:
                print(type(error).__name__, error.status, error.status_name, error)
            """, RANK="5", WORLD_SIZE="2", MASTER_ADDR="localhost", MASTER_PORT="1")
        self.assertEqual((code, len(lines)), (0, 1))
        self.assertIn("InvalidArgument 1 RONDO_INVALID_ARGUMENT rondo_init:", lines[0])
        self.assertIn("RANK", lines[0])

    def test_a_death_is_survived(self):
        code, lines = python("""
            import array, os, rondo
            comm = rondo.init()
            if comm.rank == 1:
                comm.barrier()
                os._exit(0)
            try:
                comm.barrier()  # of which rank 1 may leave while others are in it
                comm.all_reduce(bytearray(8))
            except rondo.RemoteError as error:
                assert "rank 1" in str(error), error
                assert isinstance(comm.error, rondo.RemoteError), comm.error
                assert comm.gone_ranks == [1], comm.gone_ranks
                with comm.shrink() as rest:
                    data = array.array("i", [1])
                    rest.all_reduce(data)
                    print("survivors:", data[0], rest.rank)
                comm.destroy()
            """, RUN, "-n", "3")
        self.assertEqual((code, lines), (0, ["[0] survivors: 2 0", "[2] survivors: 2 1"]))

    def test_an_exit_is_no_death(self):
        # Rank 1 ends without a word; as with destroy(), others learn that it has left.
        code, lines = python("""
            import rondo
            comm = rondo.init()
            comm.barrier()
            if comm.rank == 0:
                try:
                    comm.recv(bytearray(1), 1)
                except rondo.RondoError as error:
                    print(type(error).__name__, "died" in str(error))
            """, RUN, "-n", "2")
        self.assertEqual((code, lines), (0, ["[0] RemoteError False"]))

    def test_a_request_in_flight_at_exit(self):
        code, lines = python("""
            import asyncio, rondo
            comm = rondo.init()
            async def impatient():
                async def one():
                    await comm.irecv(bytearray(1), 0)
                try:
                    await asyncio.wait_for(one(), 0.05)
                except asyncio.TimeoutError:
                    print("late")
            asyncio.run(impatient())
            """)
        self.assertEqual((code, lines), (0, ["late"]))

    def test_a_forked_child(self):
        if sys.version_info >= (3, 12):
            self.skipTest("Python warns of forks beside threads")
        code, lines = python("""
            import os, rondo
            comm = rondo.init()
            if os.fork() == 0:
                try:
                    comm.barrier()
                except rondo.InvalidUsage as error:
                    print("child:", "fork" in str(error))
            else:
                os.wait()
                comm.barrier()
                comm.destroy()
                print("parent")
            """)
        self.assertEqual((code, lines), (0, ["child: True", "parent"]))


class Made(unittest.TestCase):
    def test_by_an_id(self):
        made, threads, sums = rondo.unique_id(), [], []

        def rank(number):
            with rondo.init_rank(number, 2, made, name="by id") as comm:
                data = array.array("i", [number])
                comm.all_reduce(data)
                sums.append(data[0])
        for number in range(2):
            threads.append(threading.Thread(target=rank, args=(number,)))
            threads[-1].start()
        for thread in threads:
            thread.join()
        self.assertEqual(sums, [1, 1])
        with self.assertRaisesRegex(ValueError, "unique_id must be the 128 bytes"):
            rondo.init_rank(0, 2, made[1:])
        with self.assertRaises(rondo.InvalidArgument):
            rondo.init_rank(2, 2, made)

    def test_by_a_url(self):
        with tempfile.TemporaryDirectory() as folder:
            with rondo.init(f"file://{folder}/meet?rank=0&size=1") as comm:
                self.assertEqual((comm.rank, comm.size), (0, 1))
        with self.assertRaisesRegex(rondo.InvalidArgument, "gopher"):
            rondo.init("gopher://x")
        with self.assertRaisesRegex(TypeError, "method is 3: it must be a str"):
            rondo.init(3)
        with self.assertRaisesRegex(ValueError, r"method is 'file:///a\\x00b'"):
            rondo.init("file:///a\0b")
        with self.assertRaisesRegex(ValueError, r"method is 'file:///\\ud800': it has no form in UTF-8"):
            rondo.init("file:///\ud800")

    def test_by_a_split(self):
        def body(comm):
            half = comm.split(comm.rank % 2, key=-comm.rank)
            none = comm.split(0 if comm.rank else rondo.NO_COLOR)
            with comm.duplicate() as twin:
                twin.barrier()
            facts = half.rank, half.size, none and none.size
            for each in (half, none):
                if each is not None:
                    each.destroy()
            return facts
        self.assertEqual(run(4, body), [(1, 2, None), (1, 2, 3), (0, 2, 3), (0, 2, 3)])

    def test_with_settings(self):
        with rondo.init_all(1, name="mine", timeout=1.5, init_timeout=5, algorithm="all_reduce=one_shot", device="host",
                            transport="local", channels=2, traffic_class=0, protocol=None)[0] as comm:
            with self.assertRaisesRegex(rondo.InvalidArgument, "'mine'"):
                comm.broadcast(bytearray(1), root=1)
        for kind, words, wrong in ((TypeError, "there is no setting 'tiemout'", {"tiemout": 1}),
                                   (ValueError, "timeout is -1: it must be more than 0 seconds", {"timeout": -1}),
                                   (ValueError, "timeout is nan", {"timeout": float("nan")}),
                                   (TypeError, "init_timeout is '3': it must be a number of", {"init_timeout": "3"}),
                                   (TypeError, "name is 7: it must be a str", {"name": 7}),
                                   (ValueError, "name is 'a\\x00b'", {"name": "a\0b"}),
                                   (ValueError, "channels is 4294967296", {"channels": 2**32}),
                                   (rondo.InvalidArgument, "pigeon", {"transport": "pigeon"})):
            with self.assertRaises(kind) as caught:
                rondo.init_all(1, **wrong)
            self.assertIn(words, str(caught.exception))
        for wrong in (0, -1):
            with self.assertRaises(rondo.InvalidArgument):
                rondo.init_all(wrong)

    def test_what_it_tells(self):
        def body(comm):
            self.assertEqual((comm.last_algorithm, comm.error), ("", None))
            comm.all_reduce(array.array("i", [1]))
            self.assertNotEqual(comm.last_algorithm, "")
            self.assertIn(comm.last_algorithm, comm.explain("all_reduce", 1, "int32"))
            self.assertEqual([comm.transport(comm.rank), comm.transport(1 - comm.rank)], ["self", "local"])
            with self.assertRaisesRegex(rondo.InvalidArgument, "all_reduec"):
                comm.explain("all_reduec", 1, "int32")
            with self.assertRaisesRegex(ValueError, "collective is 'all_reduce.x00x'"):
                comm.explain("all_reduce\0x", 1, "int32")
        run(2, body)

    def test_the_latest_calls_in_a_file(self):
        with tempfile.TemporaryDirectory() as folder, rondo.init_all(1, name="written")[0] as comm:
            comm.all_reduce(array.array("i", [1, 2, 3]))
            rondo.write_flight_file(pathlib.Path(folder) / "calls.json")
            written = json.loads((pathlib.Path(folder) / "calls.json").read_text(encoding="utf-8"))
            latest = next(each for each in written["communicators"] if each["name"] == "written")["calls"][-1]
            self.assertEqual((latest["call"], latest["count"], latest["type"]), ("all_reduce", 3, "int32"))
            with self.assertRaisesRegex(rondo.SystemFailure, f"{folder}/no/calls.json"):
                rondo.write_flight_file(f"{folder}/no/calls.json")
            with self.assertRaisesRegex(ValueError, "null bytes"):
                rondo.write_flight_file(f"{folder}/calls.json\0.bak")


class Names(unittest.TestCase):
    def test_all_names_are_there_without_torch(self):
        names = {}
        with unittest.mock.patch.dict(sys.modules, {"torch": None}):
            exec("from rondo import *", names)
            self.assertFalse(hasattr(rondo, "CollectiveMismatch"))
            with self.assertRaisesRegex(AttributeError, "part of PyTorch's backend"):
                getattr(rondo, "CollectiveMismatch")
        self.assertIs(names["init"], rondo.init)


class Ended(unittest.TestCase):
    def test_an_exception_ends_the_calls_of_all(self):
        def body(comm):
            with comm.duplicate() as twin:
                if comm.rank == 0:
                    raise KeyError("mine")
                twin.barrier()
        began = time.monotonic()
        with self.assertRaises(AssertionError) as caught:
            run(3, body)
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("KeyError: 'mine'", str(caught.exception))
        self.assertIn("rank 0 ", str(caught.exception).partition("rondo.errors.Aborted")[2])

    def test_an_exception_ends_the_calls_of_other_threads(self):
        comm, other = rondo.init_all(2)
        failures = []

        def waits():
            try:
                comm.recv(bytearray(1), 1)
            except rondo.Aborted as error:
                failures.append(error)
        waiting = threading.Thread(target=waits)
        with self.assertRaises(KeyError), comm:
            waiting.start()
            until = time.monotonic() + 10
            while not comm._busy.locked() and time.monotonic() < until:
                time.sleep(0.001)
            raise KeyError
        waiting.join()
        other.destroy()
        self.assertEqual((len(failures), repr(comm)), (1, "<rondo.Comm: rank 0 of 2, destroyed>"))

    def test_by_abort_from_another_thread(self):
        def body(comm):
            if comm.rank == 0:
                threading.Timer(0.1, comm.abort).start()
            with self.assertRaises(rondo.Aborted):
                comm.recv(bytearray(1), 1 - comm.rank)
            self.assertIsInstance(comm.error, rondo.Aborted)
        run(2, body)

    def test_ranks_that_disagree(self):
        def body(comm):
            with self.assertRaises(rondo.Mismatch) as caught:
                comm.all_reduce(bytearray(comm.rank + 1))
            self.assertIn("all_reduce", str(caught.exception))
        run(2, body)

    def test_nothing_works_afterwards(self):
        comm = rondo.init_all(1)[0]
        request = comm.irecv(bytearray(1), 0)
        comm.destroy()
        comm.destroy()
        self.assertEqual((repr(comm), comm.rank), ("<rondo.Comm: rank 0 of 1, destroyed>", 0))
        for call in (comm.barrier, comm.finalize, comm.abort, comm.duplicate, lambda: comm.error,
                     lambda: comm.transport(0), lambda: comm.all_reduce(bytearray(1)), lambda: comm.send(b"1", 0),
                     lambda: comm.irecv(bytearray(1), 0)):
            with self.assertRaisesRegex(rondo.InvalidUsage, "rank 0 of 1, destroyed"):
                call()
        with self.assertRaises(rondo.InvalidUsage):
            request.wait()

    def test_finalized(self):
        def body(comm):
            comm.finalize()
            with self.assertRaisesRegex(rondo.InvalidUsage, "comm was finalized"):
                comm.barrier()
        run(2, body)

    def test_one_thread_at_a_time(self):
        def body(comm):
            if comm.rank == 1:
                time.sleep(0.3)
                comm.send(b"x", 0)
                return
            waiting = threading.Thread(target=comm.recv, args=(bytearray(1), 1))
            waiting.start()
            until = time.monotonic() + 10
            while not comm._busy.locked() and time.monotonic() < until:
                time.sleep(0.001)
            with self.assertRaisesRegex(rondo.InvalidUsage, "in a call of another thread"):
                comm.send(b"y", 1)
            waiting.join()
        run(2, body)

    def test_what_is_dropped_is_freed_with_a_warning(self):
        comm = rondo.init_all(1)[0]
        with self.assertWarnsRegex(ResourceWarning, "rank 0 of 1> was never destroyed"):
            del comm
            gc.collect()

    def test_it_is_not_copied(self):
        with rondo.init_all(1)[0] as comm:
            with self.assertRaisesRegex(TypeError, "cannot be pickled or copied"):
                copy.copy(comm)


class Installed(unittest.TestCase):
    """The package apart from its library."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.copy = pathlib.Path(self.folder.name) / "rondo"
        shutil.copytree(pathlib.Path(rondo.__file__).parent, self.copy)

    def test_without_a_library(self):
        code, lines = python("import rondo; print(rondo.__version__); rondo.init()", PYTHONPATH=self.folder.name,
                             LD_LIBRARY_PATH="")
        self.assertEqual(code, 1)
        self.assertIn(f"{rondo.__version__}", lines)
        self.assertTrue(any("ImportError: rondo cannot load librondo.so.0" in line and "LD_LIBRARY_PATH" in line
                            for line in lines), lines)

    def test_with_another_version(self):
        facts = self.copy / "_build.py"
        facts.write_text(facts.read_text().replace(rondo.__version__, "0.0.9"))
        library = os.path.dirname(rondo._library.path())
        code, lines = python("import rondo; rondo.init()", PYTHONPATH=self.folder.name, LD_LIBRARY_PATH=library)
        self.assertEqual(code, 1)
        self.assertTrue(any("the package rondo is of version 0.0.9, and" in line for line in lines), lines)
