# SPDX-License-Identifier: Apache-2.0
"""check_abi.py SOURCE-ROOT SANITIZERS LIBRONDO LIBNCCL [--update]: compares the exports of the two libraries, with the
types of their headers, with the descriptions in this folder. --update rewrites these. CC and CXX: the compilers. Exit
code 77: skipped."""
import os
import re
import shlex
import shutil
import sys
import tempfile
import unittest

import interface

FOLDER = os.path.dirname(os.path.abspath(__file__))
UPDATE = "ninja -C build-test abi-update"
SHOWN_LINES = 40
ADVICE = f"""
The binary interface differs from {{description}} (above; a long list is cut).
If that is not intended, undo it: programs are linked against this interface. If it is,
  {UPDATE}
rewrites the description; commit it with the change, and mention it in CHANGELOG.md. Anything but an addition also
needs a new soversion (librondo.so), or breaks compatibility with NCCL (libnccl.so.2)."""

ROOT, SANITIZERS, LIBRONDO, LIBNCCL = sys.argv[1:5]
update = sys.argv[5:] == ["--update"]
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
HEADERS = tuple(f"runtime/include/rondo/{name}.h" for name in ("rondo", "topology", "plan"))
NCCL_HEADERS = ("runtime/bindings/nccl/nccl_types.h", "runtime/bindings/nccl/nccl_functions.h")


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def rondo_stub(folder):
    headers = re.sub(r"#include <rondo/.*>\n", "", "".join(map(text_of, HEADERS)))  # in one file
    return interface.make_stub(interface.rondo_stub(headers), ".c", CC, interface.soname(LIBRONDO), folder)


def nccl_stub(folder):
    source = interface.nccl_stub(*map(text_of, NCCL_HEADERS))
    return interface.make_stub(source, ".cc", CXX, interface.soname(LIBNCCL), folder)


class Interface(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def same(self, name, library, stub, header):
        interface.same_functions(library, stub, header)
        description = os.path.join(FOLDER, name)
        if update:
            return interface.describe(stub, description)
        said = interface.differences(description, stub).splitlines()
        if said:
            self.fail("\n".join(["", *said[:SHOWN_LINES], ADVICE.format(description=f"tests/abi/{name}")]))

    def test_librondo(self):
        self.same("librondo.abi", LIBRONDO, rondo_stub(self.folder), " or ".join(HEADERS))

    def test_libnccl(self):
        self.same("libnccl.abi", LIBNCCL, nccl_stub(self.folder), NCCL_HEADERS[1])


SAMPLE = """#include <stddef.h>
#define RONDO_API
#define RONDO_VERSION 100
#define RONDO_ANY_TAG (-1)
/** A status. */
typedef enum {
  RONDO_OK = 0,
  RONDO_TIMEOUT = 6
} rondo_status_t;
typedef struct rondo_comm* rondo_comm_t;
typedef struct {
  size_t size;
  long timeout_ms;
  const char* transport;
  int channels;
} rondo_config_t;
enum {
  RONDO_INT8 = 0,
  RONDO_FLOAT32 = 12
};
typedef void (*rondo_request_fn)(rondo_status_t status, void* user);
RONDO_API rondo_status_t rondo_init(rondo_comm_t* comm, const char* method,
                                    const rondo_config_t* config);
RONDO_API rondo_status_t rondo_rank(rondo_comm_t comm, int* rank);
RONDO_API rondo_status_t rondo_request_tell(void* request, rondo_request_fn fn, void* user);
RONDO_API rondo_status_t rondo_barrier(rondo_comm_t comm);
"""
CHANGES = {
    "a function that is gone": ("RONDO_API rondo_status_t rondo_barrier(rondo_comm_t comm);\n", "",
                                "1 Removed function"),
    "a further function": ("RONDO_API rondo_status_t rondo_barrier",
                           "RONDO_API int rondo_more(void);\nRONDO_API rondo_status_t rondo_barrier",
                           "1 Added function"),
    "a parameter of another type": ("int* rank", "long* rank", "parameter 2"),
    "a callback with another parameter": ("(rondo_status_t status,", "(long status,", "rondo_request_fn"),
    "a field of another type": ("long timeout_ms", "int timeout_ms", "timeout_ms"),
    "a field in the place of padding": ("int channels", "int channels, more", "data member insertion"),
    "a field of another name": ("char* transport", "char* carrier", "rondo_config_t::carrier"),
    "another value of a status": ("TIMEOUT = 6", "TIMEOUT = 60", "RONDO_TIMEOUT"),
    "a further status": ("TIMEOUT = 6", "TIMEOUT = 6,\n  RONDO_ABORTED = 8", "RONDO_ABORTED"),
    "another number of a type": ("FLOAT32 = 12", "FLOAT32 = 120", "RONDO_FLOAT32"),
    "another value of a macro": ("ANY_TAG (-1)", "ANY_TAG (-2)", "RONDO_ANY_TAG"),
}


class Changes(unittest.TestCase):
    """The comparison itself: it must find every kind of change."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.description = os.path.join(folder.name, "sample.abi")
        self.folders = [os.path.join(folder.name, name) for name in ("old", "new")]
        for one in self.folders:
            os.mkdir(one)
        self.old = self.stub(SAMPLE, self.folders[0])
        interface.describe(self.old, self.description)

    def stub(self, header, folder):
        return interface.make_stub(interface.rondo_stub(header), ".c", CC, "librondo.so.0", folder)

    def test_each_is_found(self):
        for what, (old, new, words) in CHANGES.items():
            with self.subTest(what):
                self.assertIn(old, SAMPLE)
                changed = self.stub(SAMPLE.replace(old, new), self.folders[1])
                self.assertIn(words, interface.differences(self.description, changed))

    def test_a_function_that_only_one_side_has(self):
        more = self.stub(SAMPLE + "RONDO_API int rondo_more(void);\n", self.folders[1])
        for library, stub, words in ((self.old, more, "declares rondo_more"), (more, self.old, "exports rondo_more")):
            with self.assertRaisesRegex(interface.Failure, words):
                interface.same_functions(library, stub, "sample.h")

    def test_what_programs_do_not_see_is_no_change(self):
        other = SAMPLE.replace("/** A", "/* The").replace("method,", "how,").replace("VERSION 100", "VERSION 200")
        self.assertEqual(interface.differences(self.description, self.stub(other, self.folders[1])), "")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


if __name__ == "__main__":
    for program in ("abidw", "abidiff"):
        if shutil.which(program) is None:
            skip(f"{program} is not installed (Debian's package abigail-tools)")
    if SANITIZERS != "none":
        skip("a library built with a sanitizer exports additional names")
    result = unittest.main(argv=[sys.argv[0]] + (["Interface"] if update else []), exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
