# SPDX-License-Identifier: Apache-2.0
"""wheel.py INSTALLED PACKAGE FOLDER: makes a wheel in FOLDER of what `meson install --destdir INSTALLED` installed and
of the Python package in the folder PACKAGE; prints its path. Its libraries still need those of this system: auditwheel
repair puts them in. Programs and librondo are found relative to one another, which patchelf sees to. Modules for
PyTorch that were installed are in it."""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile

TREE = pathlib.Path(__file__).parents[2]
COMPILED = ("rondo-doctor", "rondo-perf", "rondo-plan", "rondo-run", "rondo-topo")
PROGRAMS = (*COMPILED, "rondo-explain", "rondo-flight", "rondo-ps", "rondo-trace")
# What is installed, and its place in the package. Programs look for librondo-heap.so in ../lib.
LIBRARIES = {"librondo.so.0": ".", "libnccl.so.2": ".", "librondo-heap.so": "lib"}
PKG_CONFIG = """prefix=${{pcfiledir}}/..

Name: rondo
Description: Collective communication between processes, threads and hosts
Version: {version}
Libs: -L${{prefix}} -l:librondo.so.0 -Wl,-rpath,${{prefix}}
Cflags: -I${{prefix}}/include
"""
CMAKE = {"TO_HEADERS": "../../../include", "TO_LIBRARIES": "../../..", "LIBRARY": "librondo.so.0", "SOVERSION": "0"}
TORCH_MODULE = re.compile(r"_torch_(\d+)_(\d+)\.")
# Libraries of every system, which stay outside.
SYSTEM = ("libc.so", "libm.so", "libstdc++.so", "libgcc_s.so", "ld-linux")
DATE = (1980, 1, 1, 0, 0, 0)  # the same files make the same wheel


class Refused(Exception):
    """Why no wheel can be made, in one sentence."""


def only(folder, name):
    found = {path.resolve() for path in folder.rglob(name) if path.is_file()}  # links may lead to it as well
    if len(found) != 1:
        raise Refused(f"{len(found)} files named {name} are below {folder}; expected one")
    return found.pop()


def put(source, place, mode):
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)  # what a link leads to
    place.chmod(mode)


def python_files(source, package, torch=""):
    """The package in Python, which states the versions of PyTorch that it has modules for. Returns its own version."""
    for path in [*source.glob("*.py"), source / "py.typed"]:
        put(path, package / path.name, 0o644)
    facts = package / "_build.py"
    text = facts.read_text(encoding="utf-8")
    text = re.sub(r'^TORCH_VERSION = ".*?"', f'TORCH_VERSION = "{torch}"', text, flags=re.M)
    facts.write_text(text, encoding="utf-8")
    return re.search(r'^VERSION = "(.+)"$', text, re.M)[1]


def torch_modules(installed, package):
    """Puts those that were installed into the package. Returns what they were built for, as "2.14, 2.15"."""
    versions = set()
    for path in installed.rglob("_torch_*.so"):
        put(path, package / path.name, 0o755)
        versions.add(tuple(map(int, TORCH_MODULE.match(path.name).groups())))
    return ", ".join(f"{major}.{minor}" for major, minor in sorted(versions))


def installed_files(installed, package):
    for name, place in LIBRARIES.items():
        put(only(installed, name), package / place / name, 0o755)
    for name in PROGRAMS:
        put(only(installed, f"bin/{name}"), package / "bin" / name, 0o755)
    compiled = [package / "bin" / name for name in COMPILED]
    subprocess.run(["patchelf", "--set-rpath", "$ORIGIN/..", *compiled], check=True)
    headers = only(installed, "rondo/rondo.h").parent
    for path in headers.rglob("*.h*"):
        put(path, package / "include" / "rondo" / path.relative_to(headers), 0o644)


def licences_of_libraries(package, folder):
    """Those of the libraries that auditwheel puts in, as Debian has them: a wheel is passed on."""
    needed = subprocess.run(["ldd", package / "librondo.so.0", *(package / "bin" / name for name in COMPILED)],
                            check=True, text=True, stdout=subprocess.PIPE).stdout
    for path in set(re.findall(r"=> (/\S+)", needed)):
        name = os.path.basename(os.path.realpath(path))
        if name.startswith((*SYSTEM, "librondo.so")):
            continue
        notice = pathlib.Path("/usr/share/doc", owner_of(name), "copyright")
        if notice.is_file():
            put(notice, folder / f"{notice.parent.name}.txt", 0o644)
        else:
            print(f"tools/wheel: warning: the licence of {path} is not in the wheel, as no package of Debian has it",
                  file=sys.stderr)


def owner_of(name):
    """The package of Debian that a library belongs to; "none" if there is none."""
    if shutil.which("dpkg-query") is None:
        return "none"
    found = subprocess.run(["dpkg-query", "--search", f"*/{name}"], text=True, capture_output=True).stdout
    return found.partition(":")[0] or "none"


def entry_points(project):
    groups = {"console_scripts": {**project["scripts"], **dict.fromkeys(PROGRAMS, "rondo._programs:start")},
              **project["entry-points"]}
    return "\n".join(line for group, points in groups.items() for line in (
        f"[{group}]", *(f"{name} = {target}" for name, target in points.items()), ""))


def describe(about, project, version, tag):
    """The files of *.dist-info, but its RECORD."""
    about.mkdir()
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\nSummary: {project['description']}\n"
        f"Requires-Python: {project['requires-python']}\nLicense: Apache-2.0\n", encoding="utf-8")
    (about / "WHEEL").write_text(
        f"Wheel-Version: 1.0\nGenerator: rondo\nRoot-Is-Purelib: false\nTag: {tag}\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(entry_points(project), encoding="utf-8")
    (about / "licenses").mkdir()
    for name in ("LICENSE", "NOTICE"):
        put(TREE / name, about / "licenses" / name, 0o644)


def packed(root, about, wheel):
    """Writes the files below root, and their RECORD, as a wheel."""
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:  # auditwheel packs it again
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            name, data = path.relative_to(root).as_posix(), path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}")
            add(archive, name, data, path.stat().st_mode)
        name = f"{about}/RECORD"
        add(archive, name, "\n".join([*record, f"{name},,", ""]).encode(), 0o100644)


def add(archive, name, data, mode):
    entry = zipfile.ZipInfo(name, DATE)
    entry.external_attr, entry.compress_type = mode << 16, zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)


def main():
    installed, source, folder = map(pathlib.Path, sys.argv[1:])
    project = tomllib.loads((TREE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tag = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        version = python_files(source, root / "rondo", torch_modules(installed, root / "rondo"))
        installed_files(installed, root / "rondo")
        put_pkg_config(root / "rondo" / "pkgconfig", version)
        put_cmake(root / "rondo" / "lib" / "cmake" / "Rondo", installed)
        about = f"rondo-{version}.dist-info"
        describe(root / about, project, version, tag)
        wheel = folder / f"rondo-{version}-{tag}.whl"
        licences_of_libraries(root / "rondo", root / about / "licenses")
        packed(root, about, wheel)
    print(wheel)


def put_pkg_config(folder, version):
    folder.mkdir()
    (folder / "rondo.pc").write_text(PKG_CONFIG.format(version=version), encoding="utf-8")


def put_cmake(folder, installed):
    """What find_package(Rondo) reads if CMAKE_PREFIX_PATH is the package's folder."""
    version = only(installed, "RondoConfigVersion.cmake")
    put(version, folder / version.name, 0o644)
    text = (TREE / "runtime" / "api" / "packages" / "RondoConfig.cmake.in").read_text(encoding="utf-8")
    for name, value in CMAKE.items():
        text = text.replace(f"@{name}@", value)
    (folder / "RondoConfig.cmake").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"tools/wheel: {refused}")
