# SPDX-License-Identifier: Apache-2.0
"""python_program.py PROGRAM MODULE...: makes a program, one file, of Python modules. __main__.py is what it runs."""
import os
import sys
import zipfile


def main():
    program, *paths = sys.argv[1:]
    with open(program, "wb") as file:
        file.write(b"#!/usr/bin/env python3\n")  # Python runs the archive behind it
        with zipfile.ZipFile(file, "w") as archive:
            for path in paths:
                with open(path, "rb") as source:
                    # Dated 1980: the same files make the same program.
                    archive.writestr(zipfile.ZipInfo(os.path.basename(path)), source.read())
    os.chmod(program, 0o755)


if __name__ == "__main__":
    main()
