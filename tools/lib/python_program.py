# SPDX-License-Identifier: Apache-2.0
"""python_program.py PROGRAM FILE...: makes one program, of one file, of Python modules. __main__.py is what it runs; a
program, such as rondo-flight, becomes the module rondo_flight."""
import os
import sys
import zipfile


def module_name(path):
    name = os.path.basename(path)
    return name if name.endswith(".py") else name.replace("-", "_") + ".py"


def main():
    program, *paths = sys.argv[1:]
    with open(program, "wb") as file:
        file.write(b"#!/usr/bin/env python3\n")  # Python runs the archive behind it
        with zipfile.ZipFile(file, "w") as archive:
            for path in paths:
                with open(path, "rb") as source:
                    # Dated 1980: the same files make the same program.
                    archive.writestr(zipfile.ZipInfo(module_name(path)), source.read())
    os.chmod(program, 0o755)


if __name__ == "__main__":
    main()
