# SPDX-License-Identifier: Apache-2.0
"""python_package.py INSTALLED FOLDER: moves the package rondo from below INSTALLED to FOLDER, laid out as by
`pip install --target FOLDER .`: with the entry points by which PyTorch finds the backend."""
import os
import pathlib
import sys
import tomllib

PROJECT = pathlib.Path(__file__).parents[2] / "pyproject.toml"


def entry_points(project):
    """The text of entry_points.txt."""
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""]
    return "\n".join(lines)


def main():
    installed, folder = map(pathlib.Path, sys.argv[1:])
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    found = [path.parent for path in installed.rglob("_build.py") if path.parent.name == project["name"]]
    if len(found) != 1:
        sys.exit(f"{len(found)} packages named {project['name']} are below {installed}; expected one")
    folder.mkdir(parents=True)
    os.rename(found[0], folder / project["name"])
    about = folder / f"{project['name']}-0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(entry_points(project), encoding="utf-8")


if __name__ == "__main__":
    main()
