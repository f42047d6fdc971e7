# SPDX-License-Identifier: Apache-2.0
"""deb.py INSTALLED PACKAGE FOLDER: makes Debian packages in FOLDER of what `meson install --destdir INSTALLED` has put
there and of the Python package in the folder PACKAGE; prints their paths. DEBFULLNAME and DEBEMAIL, Debian's own
variables, name the maintainer."""
import datetime
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from wheel import Refused, python_files

SOVERSION = "0"
DESCRIPTION = """collective communication for parallel programs
 Rondo sums, gathers and moves data among the ranks of a parallel program, over
 shared memory, TCP, InfiniBand and GPUs, and explains every failure."""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: rondo

Files: *
Copyright: 2026 The Rondo authors
License: Apache-2.0
 On Debian systems the text of this licence is in
 /usr/share/common-licenses/Apache-2.0.
"""


class DebianPackage:
    """`files`: patterns below the prefix, of what it takes; `depends` may name {version} and {libraries}, those that
    its programs and libraries need."""

    def __init__(self, name, section, summary, depends, files, triggers=""):
        self.name, self.section, self.summary, self.depends = name, section, summary, depends
        self.files, self.triggers = files, triggers

    def takes(self, path):
        return any(re.fullmatch(pattern, path) for pattern in self.files)


LIB = r"lib/[^/]+"
PACKAGES = (
    DebianPackage(f"librondo{SOVERSION}", "libs", "library", "{libraries}",
                  (rf"{LIB}/librondo\.so\.[\d.]+", rf"{LIB}/librondo-heap\.so", rf"{LIB}/rondo/libnccl\.so\.2"),
                  triggers="activate-noawait ldconfig\n"),
    DebianPackage("librondo-dev", "libdevel", "headers and manual", f"librondo{SOVERSION} (= {{version}})",
                  (r"include/.*", rf"{LIB}/librondo\.so", rf"{LIB}/(?:pkgconfig|cmake)/.*", r"share/man/man3/.*")),
    DebianPackage("rondo-tools", "utils", "programs and documents",
                  f"librondo{SOVERSION} (= {{version}}), {{libraries}}, python3:any",
                  (r"bin/.*", r"share/man/man1/.*", r"share/(?:bash-completion|fish|zsh)/.*", r"share/doc/.*")),
    DebianPackage("python3-rondo", "python", "Python package",
                  f"librondo{SOVERSION} (= {{version}}), python3:any (>= 3.9)", (r"lib/python3/.*",)),
)


def maintainer():
    name, address = os.environ.get("DEBFULLNAME", "Rondo"), os.environ.get("DEBEMAIL", "")
    if not address:
        address = f"{os.environ.get('USER', 'root')}@{os.uname().nodename}"
    return address if "<" in address else f"{name} <{address}>"


def architecture():
    return subprocess.run(["dpkg", "--print-architecture"], check=True, text=True, capture_output=True).stdout.strip()


def prefix_below(installed):
    [header] = [path for path in installed.rglob("rondo.h") if path.parent.name == "rondo"]
    return header.parents[2]


def put_together(installed, source, root):
    """Copies what was installed, and the Python package without what is built for one version of PyTorch, below
    root/usr. Returns the version."""
    prefix = prefix_below(installed)
    usr = root / "usr"
    shutil.copytree(prefix, usr, symlinks=True, ignore=lambda _, names: names if "_build.py" in names else [])
    for file in usr.rglob("rondo.pc"):  # pkg-config leaves out folders of the system only if they are named as such
        folder, text = f"/{file.parent.relative_to(root)}", file.read_text(encoding="utf-8")
        file.write_text(re.sub(r"\$\{pcfiledir\}(\S*)", lambda path: os.path.normpath(folder + path[1]), text),
                        encoding="utf-8")
    documents = usr / "share/doc/rondo-tools"
    (usr / "share/doc/rondo").rename(documents)
    (documents / "LICENSE").unlink()
    (documents / "LICENSE").symlink_to("../../common-licenses/Apache-2.0")
    (usr / "share/zsh/site-functions").rename(usr / "share/zsh/vendor-completions")
    return python_files(source, usr / "lib/python3/dist-packages/rondo")


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed_libraries(folder, package, scratch):
    """What dpkg-shlibdeps makes of the programs and libraries of a package; those of Rondo it does not know yet."""
    compiled = [path for path in folder.rglob("*") if is_elf(path)]
    if not compiled:
        return ""
    (scratch / "debian").mkdir(exist_ok=True)
    (scratch / "debian/control").write_text(f"Source: rondo\n\nPackage: {package.name}\nArchitecture: any\n",
                                            encoding="utf-8")
    libraries = {path.parent for path in scratch.rglob("librondo.so.*")}
    command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", "--warnings=0", *(f"-l{path}" for path in libraries)]
    done = subprocess.run([*command, *compiled], cwd=scratch, text=True, capture_output=True)
    if done.returncode != 0:
        raise Refused(f"dpkg-shlibdeps: {done.stderr.strip()}")
    return done.stdout.strip().removeprefix("shlibs:Depends=")


def without_search_paths(folder):
    """Programs of the system find its libraries as all do."""
    compiled = [path for path in folder.rglob("*") if is_elf(path)]
    if compiled:
        subprocess.run(["patchelf", "--remove-rpath", *compiled], check=True)


def compressed(path):
    with open(path, "rb") as file, open(f"{path}.gz", "wb") as made, \
            gzip.GzipFile("", "wb", 9, made, mtime=0) as archive:
        shutil.copyfileobj(file, archive)
    path.unlink()


def put_documents(folder, package, version):
    about = folder / "usr/share/doc" / package.name
    about.mkdir(parents=True, exist_ok=True)
    (about / "copyright").write_text(COPYRIGHT, encoding="utf-8")
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")
    (about / "changelog").write_text(f"rondo ({version}) unstable; urgency=medium\n\n  * Made by tools/deb.\n\n"
                                     f" -- {maintainer()}  {date}\n", encoding="utf-8")
    compressed(about / "changelog")
    for page in (folder / "usr/share/man").rglob("*.[0-9]"):
        compressed(page)


def set_modes(folder):
    """As Debian has them, whatever the umask is."""
    for path in folder.rglob("*"):
        if not path.is_symlink():
            is_program = path.parent.name == "bin" or path.is_dir()
            path.chmod(0o755 if is_program else 0o644)


def control_files(folder, package, version, libraries):
    depends = package.depends.format(version=version, libraries=libraries)
    own = f"librondo{SOVERSION} (>="  # dpkg-shlibdeps may find what is stated already
    parts = [part.strip() for part in depends.split(",")]
    depends = ", ".join(part for part in parts if part and not part.startswith(own))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    control = folder / "DEBIAN"
    control.mkdir()
    first, _, rest = DESCRIPTION.partition("\n")
    fields = {"Package": package.name, "Source": "rondo", "Version": version, "Architecture": architecture(),
              "Maintainer": maintainer(), "Installed-Size": str(size // 1024 + 1), "Depends": depends,
              "Section": package.section, "Priority": "optional", "Description": f"{first} ({package.summary})\n{rest}"}
    if package.name.startswith("lib"):
        fields["Multi-Arch"] = "same"
    # A file may move from one to another between versions; all of them are upgraded together.
    fields["Breaks"] = fields["Replaces"] = ", ".join(
        f"{other.name} (<< {version})" for other in PACKAGES if other is not package)
    (control / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()), encoding="utf-8")
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n"
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and control not in path.parents]
    (control / "md5sums").write_text("".join(sums), encoding="utf-8")
    if package.triggers:
        (control / "triggers").write_text(package.triggers, encoding="utf-8")
        (control / "shlibs").write_text(f"librondo {SOVERSION} {package.name} (>= {version})\n", encoding="utf-8")


def packed(root, package, version, scratch, target):
    """Moves the files of a package into a folder of their own, and makes a package of it."""
    folder = scratch / package.name
    paths = [path for path in root.rglob("*") if not path.is_dir() or path.is_symlink()]
    for path in paths:
        name = path.relative_to(root / "usr").as_posix()
        if package.takes(name):
            place = folder / "usr" / name
            place.parent.mkdir(parents=True, exist_ok=True)
            path.rename(place)
    if not folder.exists():
        raise Refused(f"nothing that is installed belongs to {package.name}")
    put_documents(folder, package, version)
    without_search_paths(folder)
    libraries = needed_libraries(folder, package, scratch) if "{libraries}" in package.depends else ""
    set_modes(folder)
    control_files(folder, package, version, libraries)
    set_modes(folder / "DEBIAN")
    path = target / f"{package.name}_{version}_{architecture()}.deb"
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", folder, path], check=True, stdout=subprocess.DEVNULL)
    return path


def main():
    installed, source, target = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        root = scratch / "all"
        version = put_together(installed, source, root)
        for package in PACKAGES:
            print(packed(root, package, version, scratch, target))
        left = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()]
        if left:
            raise Refused(f"no package takes {', '.join(sorted(left))}")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"tools/deb: {refused}")
