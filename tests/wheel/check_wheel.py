# SPDX-License-Identifier: Apache-2.0
"""check_wheel.py SOURCE BUILD PROGRAM.c: makes a wheel of a build, and uses it as one who has nothing else of Rondo."""
import glob
import importlib.util
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import made
from bare import BareDebian  # noqa: F401  # unittest finds it here

SYSTEM = r"linux-vdso|libc\.so|libm\.so|libstdc\+\+|libgcc_s|/lib64/ld-linux"
# PyTorch's own, which are loaded before Rondo's backend is.
TORCH = r"lib(?:c10|torch_cpu|torch_python)\.so => not found"


def environment(name, python):
    """A virtual environment that has the wheel. Returns its folder, and that of the package."""
    wheel, _ = made.wheel()
    home = made.folder() / name
    subprocess.run([python, "-m", "venv", "--without-pip", home], check=True)
    subprocess.run([*made.PIP, "--python", home / "bin" / "python", "install", "--quiet", "--no-index", wheel],
                   check=True)
    [package] = glob.glob(str(home / "lib" / "python3*" / "site-packages" / "rondo"))
    return home, pathlib.Path(package)


class Installed(unittest.TestCase):
    home = None

    def run_bare(self, *command, **variables):
        """Runs a program in the environment of a new user who has installed the wheel."""
        code, said = self.ended(*command, **variables)
        self.assertEqual(code, 0, said)
        return said

    def ended(self, *command, **variables):
        path = f"{self.home / 'bin'}:/usr/bin:/bin"
        done = subprocess.run(command, cwd=self.home, text=True, timeout=made.HUNG_S, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={"PATH": path, "HOME": str(self.home), **variables})
        return done.returncode, done.stdout


class Wheel(Installed):
    @classmethod
    def setUpClass(cls):
        cls.wheel, cls.said = made.wheel()
        cls.home, cls.package = environment("home", sys.executable)

    def test_it_is_for_every_python_on_this_c_library(self):
        libc = tuple(int(part) for part in platform.libc_ver()[1].split("."))
        tags = re.fullmatch(r"rondo-[\d.]+-py3-none-manylinux_(\d+)_(\d+)_\w+\.whl", self.wheel.name)
        self.assertTrue(tags, self.wheel.name)
        self.assertLessEqual((int(tags[1]), int(tags[2])), libc)

    def test_the_backend_of_torch_is_in_it_if_the_build_has_it(self):
        files = sorted(path.name for path in self.package.glob("_torch*"))
        self.assertIn(f"With the backend of torch.distributed: {' '.join(files)}\n" if made.has_backend() else
                      "Without the backend of torch.distributed: no PyTorch is known to this build", self.said)
        self.assertEqual(bool(files), made.has_backend())
        self.assertRegex(" ".join(files), r"^(_torch_2_\d+\.\S+\.so ?)*$")
        said = self.run_bare("python", "-m", "rondo", "info")  # there is no PyTorch in this environment
        self.assertRegex(said, r"(?m)^torch backend +for torch 2\.\d+$" if files else r"(?m)^torch backend +none$")

    def test_it_contains_what_it_needs(self):
        files = [path for path in self.package.parent.rglob("*") if path.is_file()]
        compiled = [path for path in files if path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(compiled), 7)
        for path in compiled:
            for line in self.run_bare("ldd", str(path)).splitlines():
                known = rf"{SYSTEM}|{TORCH}" if path.name.startswith("_torch") else SYSTEM
                self.assertRegex(line, rf"{known}|=> {re.escape(str(self.package.parent))}|statically linked", path)
        self.assertFalse([path for path in files if re.match(r"lib(c10|torch)", path.name)])
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
        self.assertNotIn(made.BUILD, text)

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
        self.run_bare(*made.compiler("CC", "cc"), made.PROGRAM, "-o", "outsider", *flags)
        self.assertEqual(self.run_bare("./outsider"), "sum 2.5\n")

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_a_cmake_project(self):
        self.run_bare("cmake", "-S", made.PROGRAMS / "cmake", "-B", "built", f"-DCMAKE_PREFIX_PATH={self.package}",
                      f"-DPROGRAMS={made.PROGRAMS}")
        self.run_bare("cmake", "--build", "built")
        for program in ("outsider_c", "outsider_cc"):
            self.assertEqual(self.run_bare(self.home / "built" / program), "sum 2.5\n")


class WithTorch(Installed):
    """The backend, in an environment that has the PyTorch that it was built for."""

    @classmethod
    def setUpClass(cls):
        python = made.torch_python()
        cls.home, cls.package = environment("with-torch", python)
        [*_, packages] = made.torch_folders(python)
        (cls.package.parent / "torch.pth").write_text(f"{packages}\n", encoding="utf-8")

    def test_two_ranks(self):
        program = pathlib.Path(__file__).with_name("torch_program.py")
        said = self.run_bare("python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", program,
                             OMP_NUM_THREADS="1")
        self.assertEqual(said.count("rondo 2 True\n"), 2, said)

    def test_another_torch_is_told_which_one_it_takes(self):
        for version, reason in (
                ("2.99.0+cpu", r"rondo was built for torch 2\.\d+, and torch 2\.99\.0\+cpu is installed"),
                ("2.4.1", r"rondo needs torch 2\.11 or later, and torch 2\.4\.1 is installed")):
            code, said = self.ended("python", "-c", (
                f"import torch, rondo, torch.distributed as dist\ntorch.__version__ = {version!r}\n"
                "print(rondo.init().size, flush=True)\n"
                "dist.init_process_group('rondo', store=dist.HashStore(), rank=0, world_size=1)"))
            self.assertEqual((code, said.splitlines()[0]), (1, "1"), said)
            self.assertRegex(said, f"ImportError: {reason}")

    def test_another_python_is_told_what_the_package_has(self):
        [module] = self.package.glob("_torch_*.so")
        name = module.name.partition(".")[0]
        other = module.with_name(f"{name}.cpython-399-x86_64-linux-gnu.so")
        module.rename(other)
        try:
            code, said = self.ended("python", "-c", (
                "import torch.distributed as dist\n"
                "dist.init_process_group('rondo', store=dist.HashStore(), rank=0, world_size=1)"))
        finally:
            other.rename(module)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, rf"ImportError: rondo was not built for torch \S+ under this Python: the package has "
                               rf"{re.escape(other.name)} in place of {re.escape(module.name)}: run ")


class Modules(unittest.TestCase):
    """What tools/lib/wheel.py makes of several builds, and tools/wheel of what it is told."""

    def test_a_wheel_takes_one_for_each_torch_and_python(self):
        spec = importlib.util.spec_from_file_location("wheel", f"{made.SOURCE}/tools/lib/wheel.py")
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        names = {"_torch_2_9.cpython-311-x.so", "_torch_2_15.cpython-311-x.so", "_torch_2_15.cpython-312-x.so"}
        with tempfile.TemporaryDirectory() as folder:
            installed, package = pathlib.Path(folder, "installed"), pathlib.Path(folder, "package")
            (installed / "python" / "rondo").mkdir(parents=True)
            for name in names:
                (installed / "python" / "rondo" / name).touch()
            self.assertEqual(tool.torch_modules(installed, package), "2.9, 2.15")
            self.assertEqual({path.name for path in package.iterdir()}, names)
            source = pathlib.Path(made.BUILD, "runtime", "bindings", "python", "rondo")
            tool.python_files(source, package, "2.9, 2.15")
            self.assertIn('\nTORCH_VERSION = "2.9, 2.15"  #', (package / "_build.py").read_text(encoding="utf-8"))

    def test_an_interpreter_without_torch_is_refused(self):
        made.wheel()  # what it needs of PyPI is there
        for settings, reason in (
                ({"RONDO_TORCH_PYTHON": f"{made.PIP[0]}"}, "has no PyTorch that Rondo can use: no torch is installed"),
                ({"RONDO_TORCH_PYTHON": "/nowhere/python"}, "/nowhere/python has no PyTorch"),
                ({"RONDO_TORCH": "maybe"}, "is 'maybe': it must be 0")):
            done = subprocess.run([f"{made.SOURCE}/tools/wheel", "--output", made.folder() / "none"], text=True,
                                  timeout=made.HUNG_S, capture_output=True, env={**os.environ, **settings})
            self.assertIn(done.returncode, (1, 2), done.stderr)
            self.assertRegex(done.stderr, f"^tools/wheel: RONDO_TORCH.*{reason}")


class Pip(unittest.TestCase):
    """The build of `pip install .`, which takes minutes, as far as it is configured."""

    def configured(self, *options):
        """What Meson says, and what it will install with the tag of pyproject.toml."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        done = subprocess.run(["meson", "setup", scratch.name, "-Dpython=enabled", "-Dtests=disabled", *options],
                              cwd=made.SOURCE, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        plan = json.loads(pathlib.Path(scratch.name, "meson-info", "intro-install_plan.json").read_text())
        return done.stdout, {row["destination"] for rows in plan.values() for row in rows.values()
                             if row["tag"] == "python"}

    def test_what_is_installed(self):
        _, files = self.configured("-Dcuda=disabled")
        package = {path.rpartition("/rondo/")[2] for path in files}
        self.assertLessEqual({"__init__.py", "__main__.py", "_build.py", "librondo.so.0", "libnccl.so.2", "py.typed"},
                             package)
        folder = pathlib.Path(made.SOURCE, "runtime", "bindings", "python", "rondo")
        sources = {path.name for path in folder.glob("*.py")}
        self.assertLessEqual(sources, package)

    def test_device_code_needs_a_gpu(self):
        said, _ = self.configured()
        without = not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg")))
        self.assertEqual("without device code, as this machine has no GPU" in said, without, said)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test.id().rpartition('.')[2].strip(')')}: {reason}")
    wrong, left_out = len(result.failures) + len(result.errors), len(result.skipped)
    within = sum(isinstance(test, unittest.TestCase) for test, _ in result.skipped)  # others are skipped as a class
    print(f"{result.testsRun - wrong - within} passed, {wrong} failed" + (f", {left_out} skipped" if left_out else ""),
          flush=True)
    sys.exit(1 if wrong else 77 if left_out else 0)
