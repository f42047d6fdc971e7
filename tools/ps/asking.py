# SPDX-License-Identifier: Apache-2.0
"""Asks processes at the sockets of runtime/bootstrap/ps_server.h."""
import os
import re
import resource
import secrets
import selectors
import socket
import struct
import time
from collections import namedtuple

import proc
from strangers import BadFile

PATIENCE_S = 0.5     # for all processes that are asked at once
JOB_PATIENCE_S = 2.5  # for those that ask other hosts, which they do for 1.5 s at most
MAX_BYTES = 16 << 20  # of what a process says
MAX_JOB_BYTES = 48 << 20  # of what it says about those on other hosts
OWN_DESCRIPTORS = 12  # of this program, besides those of its questions

# A process with such a socket. session: that it was to ask other hosts about, or None; pid: as the kernel says, 0 if it
# is not visible here; data: what it said, or None and `why`.
Answer = namedtuple("Answer", "name session pid data why")


def names_here():
    """The sockets at which processes of this user say that they listen; other users may have made some up."""
    pattern = re.compile(rf"^\S+: \S+ \S+ 00010000 .* @(rondo-ps-{os.geteuid()}-[0-9]+-[0-9a-f]{{16}})$")
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
            return sorted({match[1] for match in map(pattern.match, file) if match})
    except OSError as error:
        raise BadFile(f"/proc/net/unix: {error.strerror}") from None


class Question:
    """A connection to a process; `session`: that is to ask the processes of this session on other hosts."""

    def __init__(self, name, session=None):
        self.name = name
        self.session = session
        self.max_bytes = MAX_JOB_BYTES if session else MAX_BYTES
        self.pid = 0
        self.chunks = []
        self.bytes = 0
        self.why = "does not answer"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            if session:
                self.socket.bind(f"\0rondo-ps-asks-{session}-{secrets.token_hex(8)}")
            self.socket.connect("\0" + name)
            peer, uid, _ = struct.unpack("iII", self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError as error:
            self.socket.close()
            # Its queue is full, unless it has just ended. Its own word for who it is has to do.
            self.pid = int(name.split("-")[3]) if isinstance(error, BlockingIOError) else -1
            self.pid = self.pid if proc.is_ours(self.pid) else -1
            return
        self.pid = peer if uid == os.geteuid() else -1
        if self.pid < 0 or proc.is_stopped(self.pid):
            self.socket.close()

    def is_open(self):
        return self.socket.fileno() >= 0

    def read(self):
        """False: it has said all, or nothing more that is of use."""
        try:
            chunk = self.socket.recv(1 << 20)
        except BlockingIOError:
            return True
        except OSError:
            chunk = b""
        self.chunks.append(chunk)
        self.bytes += len(chunk)
        if self.bytes > self.max_bytes:
            self.why = f"says more than {self.max_bytes >> 20} MiB"
        elif not chunk and self.bytes:
            self.why = None
        return bool(chunk) and self.bytes <= self.max_bytes

    def answer(self):
        self.socket.close()
        return Answer(self.name, self.session, self.pid, b"".join(self.chunks) if self.why is None else None, self.why)


def ask_all(questions, patience_s=PATIENCE_S):
    """Asks all processes, each as the arguments of a Question say, and as many at once as there may be descriptors."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    at_once = len(questions) if limit == resource.RLIM_INFINITY else max(1, limit - OWN_DESCRIPTORS)
    return [answer for at in range(0, len(questions), at_once or 1)
            for answer in ask(questions[at:at + at_once], patience_s)]


def ask(questions, patience_s):
    """Those of other users are not among the answers."""
    deadline = time.monotonic() + patience_s
    questions = [question for question in (Question(*words) for words in questions) if question.pid >= 0]
    with selectors.DefaultSelector() as selector:
        for question in questions:
            if question.is_open():
                selector.register(question.socket, selectors.EVENT_READ, question)
        while selector.get_map() and time.monotonic() < deadline:
            for key, _ in selector.select(max(0, deadline - time.monotonic())):
                if not key.data.read():
                    selector.unregister(key.fileobj)
    return [question.answer() for question in questions]
