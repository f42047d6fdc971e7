# SPDX-License-Identifier: Apache-2.0
"""check_wheel.py SOURCE BUILD PROGRAM.c: makes a wheel of a build, and uses it as one who has nothing else of Rondo."""
import glob
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE, BUILD, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:4])
NO_NETWORK = 3  # of tools/wheel: auditwheel cannot be installed
TOOLS = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache", "rondo", "wheel-tools")
SYSTEM = r"linux-vdso|libc\.so|libm\.so|libstdc\+\+|libgcc_s|/lib64/ld-linux"


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        made = subprocess.run([f"{SOURCE}/tools/wheel", "--build", BUILD, "--output", cls.folder / "dist"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode == NO_NETWORK:
            raise unittest.SkipTest(made.stdout.splitlines()[-1])
        if made.returncode != 0:
            raise AssertionError(made.stdout)
        cls.said = made.stdout
        [cls.wheel] = (cls.folder / "dist").iterdir()
        cls.home = cls.folder / "home"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.home], check=True)
        subprocess.run([TOOLS / "bin" / "python", "-m", "pip", "--python", cls.home / "bin" / "python",
                        "--disable-pip-version-check", "install", "--quiet", "--no-index", cls.wheel], check=True)
        [package] = glob.glob(str(cls.home / "lib" / "python3*" / "site-packages" / "rondo"))
        cls.package = pathlib.Path(package)

    def run_bare(self, *command, **variables):
        """Runs a program in the environment of a new user who has installed the wheel."""
        path = f"{self.home / 'bin'}:/usr/bin:/bin"
        done = subprocess.run(command, cwd=self.home, text=True, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={"PATH": path, "HOME": str(self.home), **variables})
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_it_is_for_every_python_on_this_c_library(self):
        libc = tuple(int(part) for part in platform.libc_ver()[1].split("."))
        tags = re.fullmatch(r"rondo-[\d.]+-py3-none-manylinux_(\d+)_(\d+)_\w+\.whl", self.wheel.name)
        self.assertTrue(tags, self.wheel.name)
        self.assertLessEqual((int(tags[1]), int(tags[2])), libc)
        self.assertIn("Without the backend for torch.distributed", self.said)

    def test_it_contains_what_it_needs(self):
        files = [path for path in self.package.parent.rglob("*") if path.is_file()]
        compiled = [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(compiled), 7)
        for path in compiled:
            for line in self.run_bare("ldd", str(path)).splitlines():
                self.assertRegex(line, rf"{SYSTEM}|=> {re.escape(str(self.package.parent))}|statically linked", path)
        licences = {path.name for path in files if path.parent.name == "licenses"}
        self.assertLessEqual({"LICENSE", "NOTICE"}, licences)
        self.assertTrue(any("ssl" in name for name in licences), licences)

    def test_bench(self):
        began = time.monotonic()
        text = self.run_bare("python", "-m", "rondo", "bench", "--ranks", "2")
        self.assertLess(time.monotonic() - began, 20)
        self.assertRegex(text, r"(?m)^ +8388608 .* 0$")
        self.assertIn("<svg", (self.home / "rondo-bench.svg").read_text())

    def test_info(self):
        text = self.run_bare("python", "-m", "rondo", "info")
        self.assertIn(f"{self.package}/librondo.so.0\n", text)
        self.assertNotIn("not in this installation", text)
        self.assertNotIn(BUILD, text)

    def test_ranks(self):
        text = self.run_bare("rondo-run", "--heap", "-n", "2", "python", "-c", (
            "import rondo\n"
            "with rondo.init() as comm:\n"
            "    data = bytearray(b'\\1') * 1_000_000\n"
            "    comm.all_reduce(data)\n"
            "    print(set(data), 'librondo-heap.so' in open('/proc/self/maps').read())\n"))
        self.assertEqual(sorted(text.splitlines()), ["[0] {2} True", "[1] {2} True"])

    def test_programs(self):
        self.assertEqual(self.run_bare("rondo-nccl-path"), f"{self.package}/libnccl.so.2\n")
        for name in ("rondo-doctor", "rondo-explain", "rondo-flight", "rondo-perf", "rondo-plan", "rondo-ps",
                     "rondo-run", "rondo-topo", "rondo-trace"):
            self.assertIn("sage: " + name, self.run_bare(name, "--help"))

    def test_a_c_program(self):
        where = {"PKG_CONFIG_PATH": str(self.package / "pkgconfig")}
        flags = self.run_bare("pkg-config", "--cflags", "--libs", "rondo", **where).split()
        self.run_bare(*shlex.split(os.environ.get("CC", "cc")), PROGRAM, "-o", "outsider", *flags)
        self.assertEqual(self.run_bare("./outsider"), "sum 2.5\n")

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_a_cmake_project(self):
        programs = pathlib.Path(PROGRAM).parent
        self.run_bare("cmake", "-S", programs / "cmake", "-B", "built", f"-DCMAKE_PREFIX_PATH={self.package}",
                      f"-DPROGRAMS={programs}")
        self.run_bare("cmake", "--build", "built")
        for program in ("outsider_c", "outsider_cc"):
            self.assertEqual(self.run_bare(self.home / "built" / program), "sum 2.5\n")


class Pip(unittest.TestCase):
    """The build of `pip install .`, which takes minutes, as far as it is configured."""

    def configured(self, *options):
        """What Meson says, and what it will install with the tag of pyproject.toml."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        done = subprocess.run(["meson", "setup", scratch.name, "-Dpython=enabled", "-Dtests=disabled", *options],
                              cwd=SOURCE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        plan = json.loads(pathlib.Path(scratch.name, "meson-info", "intro-install_plan.json").read_text())
        return done.stdout, {row["destination"] for rows in plan.values() for row in rows.values()
                             if row["tag"] == "python"}

    def test_what_is_installed(self):
        _, files = self.configured("-Dcuda=disabled")
        package = {path.rpartition("/rondo/")[2] for path in files}
        self.assertLessEqual({"__init__.py", "__main__.py", "_build.py", "librondo.so.0", "libnccl.so.2", "py.typed"},
                             package)
        sources = {path.name for path in pathlib.Path(SOURCE, "runtime", "bindings", "python", "rondo").glob("*.py")}
        self.assertLessEqual(sources, package)

    def test_device_code_needs_a_gpu(self):
        said, _ = self.configured()
        without = not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg")))
        self.assertEqual("without device code, as this machine has no GPU" in said, without, said)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 77 if result.skipped else 0)
