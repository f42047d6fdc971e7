# SPDX-License-Identifier: Apache-2.0
"""What /proc says about processes of this host."""
import os
import re

MAX_THREADS = 256  # of a process, that are looked at


def contents(pid, name, size=65536):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(size)
    except OSError:
        return b""


def is_ours(pid):
    try:
        return pid > 0 and os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def stat_fields(pid, name="stat"):
    """Those after the name, from the state on."""
    return contents(pid, name).rpartition(b")")[2].decode("ascii", "replace").split()


def state_letter(pid):
    return (stat_fields(pid) or ["gone"])[0]


def is_stopped(pid):
    return state_letter(pid) in ("T", "t")


def has_running_thread(pid):
    """Rondo's own threads do not count: one of them has just answered."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")[:MAX_THREADS]
    except OSError:
        return False
    return any((stat_fields(pid, f"task/{thread}/stat") or [""])[0] == "R" and
               not contents(pid, f"task/{thread}/comm").startswith(b"rondo-") for thread in threads)


def cpu_seconds(pid):
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0


def command_of(pid):
    """Its words; in brackets its name if it has none, as a thread of the kernel or a zombie."""
    words = contents(pid, "cmdline").rstrip(b"\0") or b"[" + contents(pid, "comm").rstrip() + b"]"
    return words.replace(b"\0", b" ").decode("utf-8", "replace")


def wait_channel(pid):
    """The function of the kernel in which it sleeps; empty: unknown."""
    return contents(pid, "wchan").decode("utf-8", "replace").removeprefix("0")


def inner_pid(pid):
    """The id of the process in its own PID namespace."""
    return int((re.findall(rb"^NSpid:.*?(\d+)$", contents(pid, "status"), re.M) or [pid])[0])


def pid_namespace(pid):
    try:
        return os.stat(f"/proc/{pid}/ns/pid").st_ino
    except OSError:
        return None
