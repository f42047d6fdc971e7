# SPDX-License-Identifier: Apache-2.0
"""The functions in NVIDIA's own NCCL header and library. As a program, nccl_header.py INCLUDE-FOLDER prints
COMPARE(name) for each function in the header, for abi_test.cc."""
import glob
import os
import re
import subprocess
import sys

DECLARED = re.compile(r"^\s*(?:NCCL_EXTERN_C __host__ )?(?:ncclResult_t|const char\s*\*|void|int|ncclTeam_t)\s+"
                      r"nccl(\w+)\s*\(", re.M)
NOT_INCLUDED = "gin_win_stub.h"  # by nccl_device.h
OVERLOADED = re.compile(r"Team")  # these have an overload for kernels


def declared(folder, device_too=False):
    """The names, without prefix, of the functions declared by the headers in a folder."""
    names = []
    headers = [os.path.join(folder, "nccl.h")]
    if device_too:
        headers += [path for path in sorted(glob.glob(os.path.join(folder, "nccl_device", "*.h")))
                    if not path.endswith(NOT_INCLUDED)]
    for header in headers:
        with open(header, encoding="utf-8") as file:
            names += DECLARED.findall(re.sub(r"__attribute__ \(\(.*?\)\)\)?", "", file.read()))
    return sorted(set(names))


def exported(library):
    """The names that a shared library exports."""
    lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True, capture_output=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


if __name__ == "__main__":
    for name in declared(sys.argv[1], True):
        if not OVERLOADED.search(name) and name != "ResetDebugInit":  # a macro in some headers
            print(f"COMPARE({name})")
