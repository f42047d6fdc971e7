# SPDX-License-Identifier: Apache-2.0
"""A bare Debian to run programs in: a root of its own, with the files of chosen packages as they are installed on this
machine, and of all that they depend on. It has nothing else of this machine: neither libraries that Rondo is built with
nor its tree. Every program has its own mount and process namespace, which leave nothing behind."""
import os
import pathlib
import re
import shutil
import subprocess

QUERY = r"${Package}\t${Architecture}\t${db:Status-Status}\t${Essential}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
LEFT_OUT = ("/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/info/", "/var/")
# Written when the system was installed, and thus in no package.
SETTINGS = ("/usr/bin/sh", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts")
FOLDERS = ("dev", "proc", "sys", "home", "run", "tmp", "var/tmp")
ENTER = """
set -e
root=$1
shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$1" "$root$1"
  shift
done
shift
chroot "$root" "$@" || exit $?
"""


def why_not(packages):
    """Why there can be no such root, or an empty string."""
    for name in ("dpkg-query", "unshare", "chroot", "tar"):
        if shutil.which(name) is None:
            return f"there is no {name}"
    missing = sorted(set(packages) - set(_installed()))
    if missing:
        return f"not installed: {', '.join(missing)}"
    tried = subprocess.run([*_unshare(), "mount", "-t", "tmpfs", "none", "/mnt"], text=True, capture_output=True)
    return f"no namespace can be made: {tried.stderr.strip()}" if tried.returncode != 0 else ""


def _unshare():
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--mount", "--pid", "--fork", "--kill-child"]


def _installed():
    """By the name of each package: whether Debian is never without it, what else it is, and what it needs."""
    own = subprocess.run(["dpkg", "--print-architecture"], check=True, text=True, capture_output=True).stdout.strip()
    lines = subprocess.run(["dpkg-query", "--show", "--showformat", QUERY], check=True, text=True,
                           capture_output=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    return {name: (essential == "yes", _names(provides), [_names(choice, r"\|") for choice in needs.split(",")])
            for name, architecture, status, essential, provides, needs in rows
            if status == "installed" and architecture in (own, "all")}


def _names(text, separator=","):
    """Of "libc6 (>= 2.36) | libc6.1:any"."""
    parts = (re.match(r"\s*([a-z0-9][a-z0-9+.-]*)", part) for part in re.split(separator, text))
    return [part[1] for part in parts if part]


def _with_all_that_they_need(packages):
    installed = _installed()
    provided = {other: name for name, (_, provides, _) in installed.items() for other in provides}
    chosen, waiting = set(), [*packages, *(name for name, (essential, _, _) in installed.items() if essential)]
    while waiting:
        name = waiting.pop()
        if name not in chosen:
            chosen.add(name)
            for choice in installed[name][2]:
                there = [other if other in installed else provided[other] for other in choice
                         if other in installed or other in provided]
                waiting += there[:1]
    return sorted(chosen)


def _files(packages):
    """Of these packages, each by the path at which it really is; and the names by which Debian's alternatives call
    them, such as /usr/bin/c++."""
    said = subprocess.run(["dpkg-query", "--listfiles", *packages], check=True, text=True, capture_output=True).stdout
    paths = {line for line in said.splitlines() if line.startswith("/") and not line.startswith(LEFT_OUT)}
    found = {os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
             for path in (*paths, *SETTINGS) if os.path.islink(path) or os.path.isfile(path)}
    for entry in os.scandir("/usr/bin"):
        if entry.is_symlink() and os.readlink(entry.path).startswith("/etc/alternatives/") and (
                os.path.realpath(entry.path) in found):
            found |= {entry.path, os.readlink(entry.path)}
    return sorted(found)


class Root:
    def __init__(self, folder, packages):
        self.folder = pathlib.Path(folder)
        for name in FOLDERS:
            (self.folder / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            if os.path.islink(f"/{name}"):
                (self.folder / name).symlink_to(os.readlink(f"/{name}"))
        names = "\0".join(path[1:] for path in _files(_with_all_that_they_need(packages))).encode()
        packed = subprocess.Popen(["tar", "--create", "--directory=/", "--null", "--no-recursion", "--files-from=-"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        unpacked = subprocess.Popen(["tar", "--extract", f"--directory={self.folder}"], stdin=packed.stdout)
        packed.stdout.close()
        packed.stdin.write(names)
        packed.stdin.close()
        if packed.wait() != 0 or unpacked.wait() != 0:
            raise AssertionError("tar cannot copy the files of the packages")
        subprocess.run(["ldconfig", "-r", self.folder], check=True, env={**os.environ, "PATH": "/usr/sbin:/sbin"})

    def run(self, *command, timeout, see=(), **variables):
        """What it prints. `see`: folders of this machine that it sees in their places."""
        done = subprocess.run(
            [*_unshare(), "sh", "-c", ENTER, "sh", self.folder, *see, "--", "/usr/bin/env", "-i", "--chdir=/home",
             *(f"{name}={value}" for name, value in variables.items()), *command],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=timeout)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
        return done.stdout
