#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The device code in the library, disassembled with NVIDIA's tools, which need no GPU.

Usage: check_device_code.py SOURCE_ROOT NVCC DEVICE_IMAGE LOAD_KERNELS [--whole]
LD_LIBRARY_PATH must lead to the stand-in driver. --whole links all parts for later GPUs, which takes minutes.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

WHOLE = "--whole" in sys.argv
ROOT, NVCC, IMAGE, LOAD_KERNELS = (os.path.abspath(path) for path in sys.argv[1:5])
del sys.argv[1:]
# Fetched by tools/test if the toolkit lacks it.
FETCHED = os.path.join(ROOT, ".cuda-tools/nvidia/cu13/bin")
PATH = os.pathsep.join([os.path.dirname(os.path.realpath(NVCC)), FETCHED, os.environ.get("PATH", "")])
LATER = ("sm_100", "sm_120")
NO_BINARY = "cuKernelGetFunction:1:209"  # CUDA_ERROR_NO_BINARY_FOR_GPU
with open(os.path.join(ROOT, "runtime/base/include/base/element.h"), encoding="utf-8") as header:
    SMALL_FLOATS = re.findall(r"X\((\w+), uint(8|16)_t,", header.read())
ELEMENT_BYTES = {
    "signed char": 1, "unsigned char": 1, "short": 2, "unsigned short": 2, "int": 4, "unsigned int": 4, "long": 8,
    "unsigned long": 8, "rondo::Bool8": 1, "float": 4, "double": 8, "rondo::device::Complex<float>": 8,
    "rondo::device::Complex<double>": 16, **{f"rondo::{name}": int(bits) // 8 for name, bits in SMALL_FLOATS}}
# Captures width and offset: ST.E.128 desc[UR4][R2.64+0x10], R8
STORE = re.compile(r"\bSTG?\.E((?:\.\w+)*) (?:desc\[\w+\])?\[\w+(?:\.64)?(?:\+0x([0-9a-f]+))?\]")


def run(*command, **variables):
    return subprocess.run(command, capture_output=True, text=True, timeout=1200, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PATH": PATH, **variables})


def tool(*command):
    done = run(*command)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def load(fault, **variables):
    """Loads the kernels against the stand-in driver, which injects the fault."""
    return run(LOAD_KERNELS, RONDO_STANDIN_FAIL=fault, **variables)


class DeviceCode(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def need(self, *tools):
        for name in tools:
            if shutil.which(name, path=PATH) is None:
                print(f"skipped: {self._testMethodName}: there is no {name} beside nvcc, in .cuda-tools/ or in PATH")
                self.skipTest(name)

    def at(self, name):
        return os.path.join(self.folder, name)

    def extract(self, kind, fatbin):
        """Extracts the files of that kind; every fatbin has one of PTX."""
        before = set(os.listdir(self.folder))
        subprocess.run(["cuobjdump", f"-x{kind}", "all", fatbin], check=True, cwd=self.folder, capture_output=True,
                       env={**os.environ, "PATH": PATH})
        return [self.at(name) for name in sorted(set(os.listdir(self.folder)) - before)]

    def test_the_parts_link_for_later_gpus_with_the_options_that_the_driver_gets(self):
        self.need("cuobjdump", "ptxas", "nvlink")
        done = load(NO_BINARY, RONDO_STANDIN_LINK_DIR=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(self.at("max_registers"), encoding="utf-8") as file:
            limit = int(file.read())
        parts = sorted(name for name in os.listdir(self.folder) if name.endswith(".fatbin"))
        ptx = [self.extract("ptx", self.at(name)) for name in parts]
        self.assertEqual({len(files) for files in ptx}, {1})
        ptx = [files[0] for files in ptx]
        chosen = ptx if WHOLE else self.with_stubs(ptx)
        for architecture in LATER:
            objects = [self.compile(path, architecture, limit) for path in chosen]
            done = run("nvlink", f"-arch={architecture}", "-o", self.at("linked.cubin"), *objects)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def compile(self, path, architecture, limit):
        target = f"{path}.{architecture}.cubin"
        tool("ptxas", f"-arch={architecture}", "--compile-only", *([f"-maxrregcount={limit}"] if limit else []),
             "-o", target, path)
        return target

    def with_stubs(self, paths):
        """The files that compile in seconds, and one that stubs what they call in the others."""
        chosen, declared, defined, header = [], {}, set(), ""
        for path in paths:
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if "fold_with" in text:  # the loops of every type and operation
                continue
            chosen.append(path)
            header = text[text.index(".version"):text.index(".address_size")] + ".address_size 64\n"
            for linkage, function, name in re.findall(
                    r"^\.(extern|visible) \.func\s+((?:\([^)]*\)\s*)?(\w+)\s*\([^)]*\))", text, re.M):
                if linkage == "extern":
                    declared[name] = function
                else:
                    defined.add(name)
        self.assertLess(len(chosen), len(paths))
        stubs = [f".visible .func {declared[name]}\n{{\n ret;\n}}\n" for name in sorted(set(declared) - defined)
                 if name.startswith("_ZN5rondo")]
        self.assertNotEqual(stubs, [])
        with open(self.at("stubs.ptx"), "w", encoding="utf-8") as file:
            file.write(header + "".join(stubs))
        return [*chosen, self.at("stubs.ptx")]

    def test_a_gpu_without_code_is_told_what_there_is_and_what_the_linker_says(self):
        done = load(f"{NO_BINARY},cuLinkComplete:1:218")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stderr, r"error +: asked of the stand-in; this librondo has code for sm_\d+(, sm_\d+)* "
                                      r"and PTX for compute_80 and later")
        self.assertRegex(done.stderr, r"GPU 0 has compute capability \d+\.\d, and its driver is CUDA \d+\.\d's")

    def test_results_are_stored_16_bytes_at_a_time_whatever_their_type(self):
        self.need("cuobjdump", "nvdisasm", "readelf", "c++filt")
        cubin = self.extract("elf", IMAGE)[0]
        symbols = tool("readelf", "-sW", cubin)
        names = sorted(set(re.findall(r"\b_ZN5rondo6device(?:9fold_with|8fold_one)\w+", symbols)))
        shown = dict(zip(names, tool("c++filt", *names).splitlines()))
        folds = {}  # one of each type and template
        for name, text in shown.items():
            found = re.match(r"bool rondo::device::(fold_with|fold_one)<(.*?)(?:, \(rondo::Reduction\)\d+)?>\(", text)
            folds.setdefault((found[2].strip(), found[1]), name)
        kinds = ("fold_one", "fold_with")
        self.assertEqual(sorted(folds), sorted((of, kind) for of in ELEMENT_BYTES for kind in kinds))
        listing = tool("cuobjdump", "-sass", "-fun", ",".join(folds.values()), cubin)
        bodies = dict(re.findall(r"Function : (\w+)\n(.*?)(?=Function : |\Z)", listing, re.S))
        for (of, fold), name in folds.items():
            stores = STORE.findall(bodies[name])
            wide = [offset for width, offset in stores if ".128" in width]
            self.assertNotEqual(wide, [], f"{fold}<{of}>: {stores}")
            # Single elements are stored too, complex ones in two parts, but no store begins past an element's end.
            pieces = [f"ST.E{width} +{int(offset or '0', 16)}" for width, offset in stores
                      if ".128" not in width and int(offset or "0", 16) >= ELEMENT_BYTES[of]]
            self.assertEqual(pieces, [], f"{fold}<{of}> stores pieces of 16 bytes")


if __name__ == "__main__":
    unittest.main(verbosity=1)
