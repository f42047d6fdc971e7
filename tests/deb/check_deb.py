# SPDX-License-Identifier: Apache-2.0
"""check_deb.py SOURCE BUILD PROGRAM.c: makes Debian packages of a build, installs them below a folder, uses and removes
them. Exits 77 where there is no dpkg."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:4])
NAMES = ["librondo-dev", "librondo0", "python3-rondo", "rondo-tools"]
MAINTAINER = "packages@debian.org"


def output(*command, **variables):
    done = subprocess.run(command, text=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **variables})
    if done.returncode != 0:
        raise AssertionError(f"{shlex.join(map(str, command))}: {done.returncode}\n{done.stdout}")
    return done.stdout


class Deb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        output(f"{SOURCE}/tools/deb", "--build", BUILD, "--output", cls.folder / "dist", DEBFULLNAME="A Packager",
               DEBEMAIL=MAINTAINER, DPKG_DEB_COMPRESSOR_TYPE="gzip", DPKG_DEB_COMPRESSOR_LEVEL="1")
        cls.packages = sorted((cls.folder / "dist").iterdir())
        cls.system = cls.folder / "system"
        for folder in ("updates", "info", "triggers"):
            (cls.system / "var/lib/dpkg" / folder).mkdir(parents=True)
        (cls.system / "var/lib/dpkg/status").touch()
        cls.dpkg("--install", *cls.packages)
        [cls.libraries] = {path.parent for path in cls.system.rglob("librondo.so.0")}

    @classmethod
    def dpkg(cls, *words):
        # The libraries of the system, on which they depend, are outside the folder, as is ldconfig.
        return output("dpkg", f"--root={cls.system}", "--force-depends", "--force-not-root", "--force-bad-path", *words)

    def run_installed(self, *command, **variables):
        path = f"{self.system}/usr/bin:{os.environ['PATH']}"
        return output(*command, PATH=path, LD_LIBRARY_PATH=str(self.libraries), **variables)

    def field(self, package, name):
        return output("dpkg-deb", "--field", package, name).strip()

    def test_there_are_four_of_one_version_and_they_need_one_another(self):
        self.assertEqual([self.field(package, "Package") for package in self.packages], NAMES)
        [version] = {self.field(package, "Version") for package in self.packages}
        for package in self.packages:
            self.assertEqual(self.field(package, "Maintainer"), f"A Packager <{MAINTAINER}>")
            own = f"librondo0 (= {version})"
            needs = self.field(package, "Depends").split(", ")
            self.assertEqual(own in needs, "librondo0_" not in package.name, needs)
            self.assertEqual(len(needs), len(set(need.split(" ")[0] for need in needs)), needs)
            others = {f"{name} (<< {version})" for name in NAMES if name != self.field(package, "Package")}
            for field in ("Breaks", "Replaces"):  # a file may have moved
                self.assertEqual(set(self.field(package, field).split(", ")), others)
        self.assertRegex(self.field(self.packages[1], "Depends"), r"libssl3\S* \(>= ")

    def test_each_file_is_roots_and_can_be_read_by_all(self):
        for package in self.packages:
            for line in output("dpkg-deb", "--contents", package).splitlines():
                self.assertRegex(line, r"^(drwxr-xr-x|-rw[x-]r-[x-]r-[x-]|lrwxrwxrwx) root/root ", package)

    @unittest.skipIf(shutil.which("lintian") is None, "lintian is not installed")
    def test_lintian_finds_no_error(self):
        done = subprocess.run(["lintian", "--no-cfg", "--allow-root", *self.packages], text=True, capture_output=True)
        self.assertNotRegex(done.stdout, "(?m)^E:")

    def test_programs_start_and_have_manuals(self):
        said = self.run_installed("rondo-run", "-n", "2", "rondo-perf", "all_reduce", "-b", "8", "-e", "1K", "-f", "8")
        self.assertIn("# Out of bounds values : 0 OK", said)
        container = pathlib.Path(SOURCE, "Containerfile").read_text(encoding="utf-8")
        lines = re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", container, re.M)
        command = [word.replace("64M", "1K") for line in lines for word in json.loads(line)]
        self.assertIn("# all_reduce, 4 ranks", self.run_installed(*command))
        for name in ("rondo-doctor", "rondo-flight", "rondo-plan", "rondo-topo"):
            self.assertIn("sage: ", self.run_installed(name, "--help"))
            self.assertTrue((self.system / f"usr/share/man/man1/{name}.1.gz").is_file(), name)

    def test_documents_link_to_what_is_there(self):
        documents = list(self.system.rglob("share/doc/rondo-tools/**/*.md"))
        self.assertGreater(len(documents), 20)
        for path in documents:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
                there = path.parent / target
                is_common = there.is_symlink() and str(there.readlink()).startswith("../../common-licenses/")
                self.assertTrue(there.exists() or is_common, f"{path}: {target}")

    def test_completions_are_where_debians_shells_look(self):
        for name in ("bash-completion/completions/rondo-perf", "zsh/vendor-completions/_rondo-perf",
                     "fish/vendor_completions.d/rondo-perf.fish"):
            self.assertTrue((self.system / "usr/share" / name).is_file(), name)

    def test_a_program_in_c_is_built_and_runs(self):
        found = {"PKG_CONFIG_SYSROOT_DIR": str(self.system), "PKG_CONFIG_LIBDIR": str(self.libraries / "pkgconfig")}
        flags = output("pkg-config", "--cflags", "--libs", "rondo", **found).split()
        self.assertIn("-lrondo", flags)
        paths = output("pkg-config", "--variable=includedir", "rondo", **{**found, "PKG_CONFIG_SYSROOT_DIR": ""})
        self.assertEqual(paths, "/usr/include\n")
        program = self.folder / "program"
        # pkg-config leaves out /usr/include, where a compiler looks that is not told of the folder.
        output(*shlex.split(os.environ["CC"]), PROGRAM, "-o", program, f"-I{self.system}/usr/include", *flags,
               f"-L{self.libraries}")
        self.assertEqual(self.run_installed(program), "sum 2.5\n")

    def test_the_python_package_finds_the_library(self):
        said = self.run_installed("python3", "-m", "rondo", "info",
                                  PYTHONPATH=str(self.system / "usr/lib/python3/dist-packages"))
        self.assertRegex(said, rf"(?m)^library +{re.escape(str(self.libraries))}/librondo\.so\.0")

    def test_removed_they_leave_nothing(self):
        self.dpkg("--purge", *reversed(NAMES))
        try:
            left = [str(path) for path in self.system.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)]
            self.assertEqual(left, [])
        finally:
            self.dpkg("--install", *self.packages)


class Usage(unittest.TestCase):
    def test_wrong_options_are_refused(self):
        for words, reason in ((["--build"], "--build needs a folder"), (["--build", "/dev"], "must be a build folder"),
                              (["--nonsense"], "no such option '--nonsense'")):
            done = subprocess.run([f"{SOURCE}/tools/deb", *words], text=True, capture_output=True)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(reason, done.stderr)


if __name__ == "__main__":
    if shutil.which("dpkg-deb") is None or shutil.which("dpkg-shlibdeps") is None:
        print("skipped: dpkg-dev is not installed")
        sys.exit(77)
    del sys.argv[1:]
    unittest.main()
