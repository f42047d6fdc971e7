# SPDX-License-Identifier: Apache-2.0
"""The wheel on a bare Debian. Each test goes from nothing to a program that has run: it makes a virtual environment,
installs the wheel, builds or fetches what the program needs, and may take a minute for all of it."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time
import unittest

import made
import root

LIMIT_S = 60
PACKAGES = ("python3", "python3-venv", "g++", "make", "cmake", "pkgconf")
HOME = pathlib.Path("/home")
NUMPY = made.CACHE / "wheel-numpy"  # fetched once


def cpu_time_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def numpy_wheels(python):
    """The folder with numpy for this version of Python; without a network the test is skipped."""
    version = re.search(r"\d+\.\d+", python)[0]
    if not list(NUMPY.glob(f"numpy-*-cp{version.replace('.', '')}-*.whl")):
        made.wheel()  # which also brings pip
        done = subprocess.run([*made.PIP, "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--timeout",
                               "30", "--retries", "1", "--python-version", version, "--dest", NUMPY, "numpy"],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
        if done.returncode != 0:
            raise unittest.SkipTest(f"numpy cannot be fetched from PyPI: {done.stdout.splitlines()[-1]}")
    return NUMPY


class BareDebian(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := root.why_not(PACKAGES):
            raise unittest.SkipTest(f"no bare Debian for the wheel: {why}")
        wheel, _ = made.wheel()
        cls.root = root.Root(made.folder() / "root", PACKAGES)
        cls.wheel = cls.give(wheel)
        for name in ("outsider.c", "outsider.cc", "cmake"):
            cls.give(made.PROGRAMS / name)

    @classmethod
    def give(cls, path):
        """Puts a file or folder where programs start. Returns its name there."""
        place = cls.root.folder / HOME.name / path.name
        if path.is_dir():
            shutil.copytree(path, place)
        else:
            shutil.copyfile(path, place)
        return path.name

    def setUp(self):
        self.start_the_clock()
        self.see = ()
        self.home = HOME / self.id().rpartition(".")[2]
        self.site = None

    def start_the_clock(self):
        self.began, self.cpu_before = time.monotonic(), cpu_time_of_children()

    def took(self):
        """Seconds since then. Where other programs keep all CPUs busy, only those that its own programs computed."""
        took = time.monotonic() - self.began
        is_alone = os.getloadavg()[0] < 2 * os.cpu_count()
        return took if is_alone else min(took, cpu_time_of_children() - self.cpu_before)

    def run_there(self, *command, **variables):
        try:
            return self.root.run(*command, timeout=made.HUNG_S, see=self.see, HOME=HOME, LC_ALL="C.UTF-8",
                                 PATH=f"{self.home}/bin:/usr/bin:/bin", PYTHONDONTWRITEBYTECODE="1", **variables)
        except subprocess.TimeoutExpired:
            self.fail(f"not over after {made.HUNG_S} s: {' '.join(map(str, command))}")

    def install(self, python="python3"):
        """A virtual environment of a user who has the wheel, and nothing else of Rondo."""
        self.run_there(python, "-m", "venv", self.home)
        self.site = self.run_there("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
        self.run_there("python", "-m", "pip", "install", "--quiet", "--no-index", self.wheel)

    def tearDown(self):
        took = self.took()
        print(f"{self.home.name}: {took:.1f} s from nothing", flush=True)
        self.assertLess(took, LIMIT_S)

    def test_there_is_nothing_that_rondo_is_built_with(self):
        said = self.run_there("sh", "-c", "/sbin/ldconfig -p; pkg-config --list-all")
        self.assertIn("libc.so.6", said)
        self.assertNotRegex(said, "hwloc|fmt|spdlog|pugixml|hwy|rondo")

    def test_bench(self):
        self.install()
        # python -m rondo bench, without its own limit, which counts the time that other programs take too.
        program = "import sys; from rondo import __main__, _bench; _bench.LIMIT_S = 200; sys.exit(__main__.main())"
        said = self.run_there("python", "-c", program, "bench", "--ranks", "2")
        self.assertRegex(said, r"(?m)^ +8388608 .* 0$")
        self.assertIn("<svg", (self.root.folder / HOME.name / "rondo-bench.svg").read_text(encoding="utf-8"))

    def test_c(self):
        self.install()
        self.build_by_pkg_config("cc", "outsider.c")

    def test_cc(self):
        self.install()
        self.build_by_pkg_config("c++", "-std=c++20", "outsider.cc")

    def build_by_pkg_config(self, *compilation):
        flags = self.run_there("pkg-config", "--cflags", "--libs", "rondo",
                               PKG_CONFIG_PATH=f"{self.site}/rondo/pkgconfig").split()
        self.run_there(*compilation, "-o", "outsider", *flags)
        self.assertEqual(self.run_there("./outsider"), "sum 2.5\n")

    def test_cmake(self):
        self.install()
        self.run_there("cmake", "-S", "cmake", "-B", "built", f"-DCMAKE_PREFIX_PATH={self.site}/rondo",
                       f"-DPROGRAMS={HOME}")
        self.run_there("cmake", "--build", "built")
        for program in ("outsider_c", "outsider_cc"):
            self.assertEqual(self.run_there(f"built/{program}"), "sum 2.5\n")

    def test_numpy(self):
        wheels = numpy_wheels(self.run_there("python3", "--version"))
        self.start_the_clock()  # PyPI may be far
        self.install()
        self.see = (wheels,)
        self.run_there("python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels, "numpy")
        self.give(pathlib.Path(__file__).with_name("numpy_program.py"))
        said = self.run_there("rondo-run", "-n", "2", "python", "numpy_program.py")
        self.assertEqual(sorted(said.splitlines()), ["[0] 2 True", "[1] 2 True"])

    def test_torch(self):
        python = made.torch_python()
        prefix, base, packages = made.torch_folders(python)
        self.see = tuple(folder for folder in dict.fromkeys((prefix, base)) if not folder.startswith("/usr"))
        self.install(python)
        (self.root.folder / self.site[1:] / "torch.pth").write_text(f"{packages}\n", encoding="utf-8")
        self.give(pathlib.Path(__file__).with_name("torch_program.py"))
        said = self.run_there("python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
                              "torch_program.py", OMP_NUM_THREADS="1")
        self.assertEqual(said.count("rondo 2 True\n"), 2, said)
