# SPDX-License-Identifier: Apache-2.0
"""check_install.py BUILD-FOLDER PROGRAM.c PROGRAM.cc: installs into an empty folder and uses the result."""
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, PROGRAM, CPP_PROGRAM = (os.path.abspath(path) for path in sys.argv[1:4])
CMAKE_PROJECT = os.path.join(os.path.dirname(PROGRAM), "cmake")
PROGRAMS = {"rondo-doctor", "rondo-explain", "rondo-flight", "rondo-nccl-path", "rondo-perf", "rondo-plan", "rondo-ps",
            "rondo-run", "rondo-topo", "rondo-trace"}
NCCL_TESTS_NAMES = {"all_reduce_perf", "broadcast_perf", "all_gather_perf", "hypercube_perf", "sendrecv_perf"}


def output_of(*command, **more):
    return subprocess.run(command, check=True, text=True, capture_output=True, **more).stdout


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = cls.folder.name
        output_of("meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.root)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def only(self, pattern):
        found = glob.glob(os.path.join(self.root, "**", pattern), recursive=True)
        self.assertEqual(len({os.path.realpath(path) for path in found}), 1, f"{pattern}: {found}")
        return found[0]

    def pkg_config_environment(self):
        return {**os.environ, "PKG_CONFIG_SYSROOT_DIR": self.root,
                "PKG_CONFIG_PATH": os.path.dirname(self.only("rondo.pc"))}

    def test_library_has_an_abi_version(self):
        library = self.only("librondo.so.0")
        self.assertIn("[librondo.so.0]", re.search(r".*SONAME.*", output_of("readelf", "-d", library))[0])
        self.assertEqual(os.path.realpath(self.only("librondo.so")), os.path.realpath(library))

    def test_library_exports_the_c_api_and_nothing_else(self):
        lines = output_of("nm", "-D", "--defined-only", self.only("librondo.so.0")).splitlines()
        exported = {line.split()[-1].split("@")[0] for line in lines}
        declared = set()
        for name in ("plan.h", "rondo.h", "topology.h"):
            with open(self.only(name), encoding="utf-8") as header:
                declared |= set(re.findall(r"^RONDO_API .*?\b(rondo_\w+)\(", header.read(), re.M))
        self.assertEqual(exported, declared)

    def test_programs_are_there_and_say_how_to_use_them(self):
        names = set(os.listdir(os.path.dirname(self.only("bin/rondo-run"))))
        self.assertLessEqual(PROGRAMS, names)
        options = json.loads(output_of("meson", "introspect", "--buildoptions", BUILD))
        wanted = next(option["value"] for option in options if option["name"] == "nccl_tests_names")
        self.assertEqual(NCCL_TESTS_NAMES & names, NCCL_TESTS_NAMES if wanted else set())
        environment = {**os.environ, "LD_LIBRARY_PATH": ""}  # they find the library by themselves
        for name in PROGRAMS - {"rondo-nccl-path"}:
            self.assertIn("sage: ", output_of(self.only(f"bin/{name}"), "--help", env=environment))

    def test_what_is_to_be_read_is_there(self):
        pages = os.path.dirname(self.only("man1/rondo-run.1"))
        self.assertEqual(set(os.listdir(pages)), {f"{name}.1" for name in PROGRAMS})
        for name in ("man3/rondo_all_reduce.3", "bash-completion/completions/rondo-perf",
                     "zsh/site-functions/_rondo-perf", "fish/vendor_completions.d/rondo-perf.fish",
                     "doc/rondo/LICENSE", "doc/rondo/NOTICE", "doc/rondo/docs/cxx.md", "doc/rondo/examples/jacobi.c"):
            self.only(name)

    def test_links_between_documents_work(self):
        documents = glob.glob(os.path.join(self.root, "**/doc/rondo/**/*.md"), recursive=True)
        names = {os.path.basename(path) for path in documents}
        self.assertLessEqual({"README.md", "CONTRIBUTING.md", "doctor.md"}, names)
        for path in documents:
            with open(path, encoding="utf-8") as file:
                for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", file.read()):
                    self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), target)), f"{path}: {target}")

    def test_nccls_stand_in_lies_apart_and_is_found(self):
        library = self.only("libnccl*")
        self.assertEqual(os.path.basename(os.path.dirname(library)), "rondo")
        self.assertEqual(output_of(self.only("bin/rondo-nccl-path")), os.path.realpath(library) + "\n")

    def test_nothing_needless_is_installed(self):
        for pattern in ("*.a", "catch*", "*test*"):
            found = glob.glob(os.path.join(self.root, "**", pattern), recursive=True)
            self.assertEqual([path for path in found if "/doc/rondo/" not in path], [])

    def test_pkg_config_names_rondo_alone(self):
        libs = output_of("pkg-config", "--libs", "rondo", env=self.pkg_config_environment()).split()
        self.assertIn("-lrondo", libs)
        self.assertEqual([word for word in libs if word.startswith("-l") and word != "-lrondo"], [])

    def test_pkg_config_finds_a_tree_that_was_moved(self):
        # DESTDIR is part of no path in rondo.pc.
        environment = {**os.environ, "PKG_CONFIG_PATH": os.path.dirname(self.only("rondo.pc"))}
        environment.pop("PKG_CONFIG_SYSROOT_DIR", None)
        for variable, name in (("includedir", "rondo/rondo.h"), ("libdir", "librondo.so"), ("prefix", "bin/rondo-run")):
            folder = output_of("pkg-config", f"--variable={variable}", "rondo", env=environment).strip()
            self.assertTrue(os.path.samefile(os.path.join(folder, name), self.only(name)), f"{variable}: {folder}")

    def sum_of(self, program, **more):
        """What a program of a single rank prints."""
        kept = {name: value for name, value in os.environ.items()
                if not re.match(r"RANK$|WORLD_SIZE$|OMPI_|PMI|SLURM_|LD_LIBRARY_PATH$", name)}
        return output_of(program, env={**kept, **more})

    def test_programs_in_c99_and_in_cpp_outside_the_tree_build_and_run(self):
        flags = output_of("pkg-config", "--cflags", "--libs", "rondo", env=self.pkg_config_environment()).split()
        for compiler, standard, source in (("CC", "-std=c99", PROGRAM), ("CXX", "-std=c++20", CPP_PROGRAM)):
            program = os.path.join(self.root, "outsider" + standard)
            output_of(*shlex.split(os.environ[compiler]), standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                      source, "-o", program, *flags)
            library = os.path.dirname(self.only("librondo.so.0"))
            self.assertEqual(self.sum_of(program, LD_LIBRARY_PATH=library), "sum 2.5\n", source)

    def version(self):
        return output_of("pkg-config", "--modversion", "rondo", env=self.pkg_config_environment()).strip()

    def prefix(self):
        return os.path.dirname(os.path.dirname(self.only("bin/rondo-run")))

    def configured(self, folder, *options, prefix=None):
        prefix = prefix or self.prefix()
        command = ["cmake", "-S", CMAKE_PROJECT, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
                   f"-DPROGRAMS={os.path.dirname(PROGRAM)}", *options]
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_a_cmake_project_finds_it_builds_and_runs(self):
        # DESTDIR is part of no path in the package, so this is a tree that was moved.
        with tempfile.TemporaryDirectory() as folder:
            run = self.configured(folder, "-DWANTED_VERSION=" + self.version().rpartition(".")[0])
            self.assertEqual(run.returncode, 0, run.stdout)
            output_of("cmake", "--build", folder)
            for program in ("outsider_c", "outsider_cc"):
                self.assertEqual(self.sum_of(os.path.join(folder, program)), "sum 2.5\n")

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_cmake_finds_it_by_a_link_to_its_folder(self):
        # As /lib, which leads to /usr/lib, and beside which there is no /include.
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(os.path.join(self.prefix(), "lib"), os.path.join(folder, "lib"))
            run = self.configured(os.path.join(folder, "build"), "-DWANTED_VERSION=0", prefix=folder)
            self.assertEqual(run.returncode, 0, run.stdout)

    @unittest.skipIf(shutil.which("cmake") is None, "cmake is not installed")
    def test_cmake_refuses_other_versions_and_unknown_components(self):
        with tempfile.TemporaryDirectory() as folder:
            version = self.version()
            for wanted, words in (("99", f"version: {version}"), (f"{version}.1", f"version: {version}"),
                                  (f"{version}.1...99", f"version: {version}"),
                                  ("0;COMPONENTS;gpu", "no component gpu")):
                run = self.configured(folder, f"-DWANTED_VERSION={wanted}")
                self.assertNotEqual(run.returncode, 0, wanted)
                self.assertIn(words, run.stdout)
            for wanted in ("0", f"{version};EXACT", f"0...{version}", "0;OPTIONAL_COMPONENTS;gpu"):
                run = self.configured(folder, f"-DWANTED_VERSION={wanted}")
                self.assertEqual(run.returncode, 0, run.stdout)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed" + (f", {skipped} skipped" if skipped else ""),
          flush=True)
    sys.exit(1 if wrong else 0)
