#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How nvcc is found, and fetched if there is none: with scripts as compilers, and without a network.

Usage: check_nvcc.py SOURCE_ROOT
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
NVCC = """#!/bin/sh
case $1 in
  -dryrun) echo '#$ TOP={top}' >&2; exit ;;
  --version) echo 'Cuda compilation tools, release {version}, V{version}.88'; exit ;;
esac
echo 'try.cu(4): error: {broken}' >&2
[ -z '{broken}' ]
"""


class Nvcc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = folder.name
        for path in ("tools/lib", "tools/cuda"):
            shutil.copytree(os.path.join(ROOT, path), os.path.join(self.tree, path))
        self.bin = os.path.join(self.tree, "bin")
        os.mkdir(self.bin)
        for name in ("sh", "bash", "sed", "grep", "head", "tail", "dirname", "readlink", "mktemp", "rm", "cat", "mv",
                     "chmod", "timeout", "tr", "sort"):
            os.symlink(shutil.which(name), os.path.join(self.bin, name))

    def program(self, path, text):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)
        return path

    def nvcc(self, folder, version="13.0", broken="", headers=True, script="bin/nvcc"):
        top = os.path.join(self.tree, folder)
        if headers:
            self.program(f"{folder}/include/cuda.h", "")
        return self.program(os.path.join(folder, script), NVCC.format(top=top, version=version, broken=broken))

    def run_in_tree(self, *command, **variables):
        return subprocess.run(command, cwd=self.tree, env={"PATH": self.bin, **variables}, text=True,
                              capture_output=True, timeout=60, stdin=subprocess.DEVNULL)

    def find(self, **variables):
        return self.run_in_tree("tools/cuda/find_nvcc", self.tree, os.path.join(self.tree, "toolkit"), **variables)

    def found(self, **variables):
        result = self.find(**variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()[0]

    def test_the_order_of_places(self):
        places = [self.nvcc(".cuda/nvidia/cu13"), self.nvcc("toolkit"), self.nvcc("home")]
        places.append(self.program("bin/nvcc", NVCC.format(top=self.tree + "/home", version="13.0", broken="")))
        home = {"CUDA_HOME": os.path.join(self.tree, "home")}
        for path in reversed(places):
            self.assertEqual(self.found(**home), path)
            os.remove(path)
        self.assertEqual(self.find(**home).returncode, 1)

    def test_what_does_not_compile_is_passed_over_with_its_words(self):
        self.nvcc("toolkit", broken="it must be 12 or later")
        fetched = self.nvcc(".cuda/nvidia/cu13")
        self.assertEqual(self.found(), fetched)
        self.assertIn("toolkit/bin/nvcc: try.cu(4): error: it must be 12 or later", self.find().stderr)

    def test_headers_and_version_are_those_of_the_compiler_behind_a_script(self):
        self.nvcc("elsewhere", version="12.4")
        self.program("bin/nvcc", f'#!/bin/sh\nexec {self.tree}/elsewhere/bin/nvcc "$@"\n')
        self.assertEqual(self.find().stdout.splitlines(),
                         [self.bin + "/nvcc", os.path.realpath(self.tree + "/elsewhere"), "12.4"])

    # The GPUs to compile for.
    def architectures(self, *wanted, smi="exit 127"):
        self.program("bin/nvidia-smi", "#!/bin/sh\n" + smi)
        known = self.program("bin/nvcc", "#!/bin/sh\nprintf 'sm_%s\\n' 75 80 86 89 90 100 120\n")
        return self.run_in_tree("tools/cuda/architectures", known, *wanted)

    def test_code_is_for_the_gpus_of_the_machine_or_else_for_9_0(self):
        for smi, made in (("exit 127", "90"), ("echo 'No devices were found'; exit 6", "90"), ("echo 8.9", "89"),
                          ("printf '12.0\\n8.0\\n8.0\\n'", "80 120"),
                          ("printf '7.5\\n'", "90"),  # Rondo cannot use 7.5
                          ("printf '8.6\\n99.9\\n[N/A]\\n'", "86")):  # GPUs unknown to nvcc get PTX
            result = self.architectures("native", smi=smi)
            self.assertEqual((result.returncode, result.stdout.split()), (0, made.split()), (smi, result.stderr))

    def test_releases_have_code_for_every_generation(self):
        self.assertEqual(self.architectures("all").stdout.split(), "80 86 89 90 100 120".split())
        self.assertEqual(self.architectures("100", "86", "90", "86").stdout.split(), "86 90 100".split())

    def test_architectures_that_make_no_sense_are_named(self):
        for wanted, said in (("75", "'75': it must be 80 or later"), ("sm_90", "'sm_90': it must be native, all"),
                             ("90a", "'90a': it must be")):
            result = self.architectures("80", wanted)
            self.assertEqual((result.returncode, result.stdout), (1, ""), wanted)
            self.assertIn(f"gpu_architectures is {said}", result.stderr)

    # tools/lib/cuda.sh without a toolkit (a fake one would be found in the usual place too).
    def have(self, pip, **variables):
        self.program("bin/python3", f"#!/bin/sh\n[ \"$3\" = --version ] || {{ {pip}; }}\n")
        self.program("tools/cuda/find_nvcc", '#!/bin/sh\n[ -x .cuda/nvidia/cu13/bin/nvcc ]\n')
        return self.run_in_tree("bash", "-euc", ". tools/lib/packages.sh; . tools/lib/cuda.sh; "
                                "if have_nvcc; then echo found; else echo none; fi", **variables)

    def leftovers(self):
        return [name for name in os.listdir(self.tree) if name.startswith(".cuda")]

    FETCHES = ('while [ "$1" != --target ]; do shift; done; folder=$2/nvidia/cu13/bin; "$MKDIR" -p $folder; '
               'echo > $folder/nvcc; chmod 755 $folder/nvcc; echo once >> fetches')

    def test_without_a_network_there_is_no_cuda(self):
        result = self.have("echo 'ERROR: no network' >&2; exit 1")
        self.assertEqual((result.returncode, result.stdout.splitlines()[1:]),
                         (0, ["Building without CUDA: there is no nvcc (ERROR: no network)", "none"]))
        self.assertEqual(self.leftovers(), [])

    def test_it_is_fetched_once(self):
        for said in ("fetching nvcc from PyPI", ""):
            result = self.have(self.FETCHES, MKDIR=shutil.which("mkdir"))
            self.assertEqual(result.stdout.splitlines()[-1], "found", result.stderr)
            self.assertIn(said, result.stdout)
        with open(os.path.join(self.tree, "fetches"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "once\n")
        self.assertEqual(self.leftovers(), [".cuda"])

    def test_the_user_decides(self):
        self.assertEqual(self.have("echo pip ran", RONDO_CUDA="0").stdout, "none\n")
        result = self.have("exit 1", RONDO_CUDA="1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("CUDA was requested, but there is no nvcc", result.stderr)
        result = self.have("exit 1", RONDO_CUDA="yes")
        self.assertIn("RONDO_CUDA is 'yes': it must be 0", result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=1)
