# SPDX-License-Identifier: Apache-2.0
"""Prints what a build needs of this interpreter's torch: version, folder. Otherwise reports the problem and exits with
1 if torch is not installed, with 2 if it is too old. Run with -E: pip's build environment hides installed packages
behind PYTHONPATH."""
import importlib.util
import pathlib
import re
import sys

OLDEST = (2, 11)


def main():
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        print(f"no torch is installed for {sys.executable}", file=sys.stderr)
        return 1
    folder = pathlib.Path(found.submodule_search_locations[0])
    version = re.search(r"__version__ = '([^']+)'", (folder / "version.py").read_text())[1]
    if tuple(int(part) for part in version.split("+")[0].split(".")[:2]) < OLDEST:
        print(f"torch {version} is installed in {folder}; Rondo needs {OLDEST[0]}.{OLDEST[1]} or later",
              file=sys.stderr)
        return 2
    print(version)
    print(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
