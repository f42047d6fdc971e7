"""Prints what a build needs of the torch that is installed for this interpreter: version, folder. Says what is wrong
and exits with 1 where there is none, with 2 where it is too old. Run it with -E: pip's build environment hides what
is installed behind PYTHONPATH."""
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
