# SPDX-License-Identifier: Apache-2.0
"""check_install.py BUILD-FOLDER PROGRAM.c: installs into an empty folder and uses the result."""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

BUILD, PROGRAM = sys.argv[1:3]
PROGRAMS = {"rondo-nccl-path", "rondo-perf", "rondo-plan", "rondo-run", "rondo-topo", "all_reduce_perf",
            "broadcast_perf", "all_gather_perf", "sendrecv_perf"}


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
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
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
        with os.scandir(os.path.join(os.path.dirname(self.only("rondo-run")))) as entries:
            names = {entry.name for entry in entries}
        self.assertLessEqual(PROGRAMS, names)
        libraries = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(self.only("librondo.so.0"))}
        for name in ("rondo-perf", "rondo-run"):
            self.assertIn("-n", output_of(self.only(name), "--help", env=libraries))

    def test_nccls_stand_in_lies_apart_and_is_found(self):
        library = self.only("libnccl*")
        self.assertEqual(os.path.basename(os.path.dirname(library)), "rondo")
        self.assertEqual(output_of(self.only("rondo-nccl-path")), os.path.realpath(library) + "\n")

    def test_nothing_needless_is_installed(self):
        for pattern in ("*.a", "catch*", "*test*"):
            self.assertEqual(glob.glob(os.path.join(self.root, "**", pattern), recursive=True), [])

    def test_pkg_config_names_rondo_alone(self):
        libs = output_of("pkg-config", "--libs", "rondo", env=self.pkg_config_environment()).split()
        self.assertIn("-lrondo", libs)
        self.assertEqual([word for word in libs if word.startswith("-l") and word != "-lrondo"], [])

    def test_a_c99_program_outside_the_tree_builds_and_runs(self):
        flags = output_of("pkg-config", "--cflags", "--libs", "rondo", env=self.pkg_config_environment()).split()
        program = os.path.join(self.root, "outsider")
        output_of(*shlex.split(os.environ.get("CC", "cc")), "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                  PROGRAM, "-o", program, *flags)
        kept = {name: value for name, value in os.environ.items()
                if not re.match(r"RANK$|WORLD_SIZE$|OMPI_|PMI|SLURM_", name)}
        kept["LD_LIBRARY_PATH"] = os.path.dirname(self.only("librondo.so.0"))
        self.assertEqual(output_of(program, env=kept), "sum 2.5\n")


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
