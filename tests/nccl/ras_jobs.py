# SPDX-License-Identifier: Apache-2.0
"""Jobs on libnccl.so.2 and clients like ncclras, as tests start them; takes the first argument of the test's program:
RAS-JOB."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import own_network  # noqa: E402
from cases import LIMIT_S  # noqa: E402

HAS_OWN_NETWORK = own_network.enter()  # other jobs of this user would be answered too
JOB = os.path.abspath(sys.argv.pop(1))
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_RAS_")}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Client:
    """As ncclras: connects, shakes hands, may set a timeout and a format, and asks."""

    def __init__(self, port, handshake=True, host="127.0.0.1", receive_bytes=None):
        until = time.monotonic() + LIMIT_S
        while True:
            self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            self.socket.settimeout(LIMIT_S)
            if receive_bytes is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            self.socket.connect((host, port))
            self.rest = b""
            if not handshake:
                return
            self.socket.settimeout(1)  # a stopped process may have the connection: ncclras tries again
            try:
                answer = self.ask("CLIENT PROTOCOL 2")
                break
            except OSError as error:
                self.socket.close()
                if not isinstance(error, TimeoutError) or time.monotonic() > until:
                    raise
        if answer != "SERVER PROTOCOL 2":
            self.socket.close()
            raise PermissionError(answer)
        self.socket.settimeout(LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self):
        while b"\n" not in self.rest:
            chunk = self.socket.recv(4096)
            if not chunk:
                raise ConnectionError("it has hung up")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def ask(self, text):
        self.send(text + "\n")
        return self.line()

    def all(self):
        chunks = [self.rest]
        while chunk := self.socket.recv(65536):
            chunks.append(chunk)
        return b"".join(chunks).decode()

    def hangs_up(self):
        try:
            return not self.all()
        except ConnectionError:
            return True


class Job:
    """The processes of a job, of which `text()` and `data()` are told."""
    made = 0

    def __init__(self, test, what, late=1, size=4, prefix=(), **environment):
        Job.made += 1
        self.size = size
        self.port = free_port()
        self.name = f"ras-{os.getpid()}-{Job.made}"
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o777)
        test.addCleanup(shutil.rmtree, self.folder)
        environment = {**ENVIRONMENT, "NCCL_RAS_ADDR": f"localhost:{self.port}", **environment}
        self.ranks = [subprocess.Popen(
            [*prefix, JOB, str(rank), str(size), f"{self.folder}/id", self.name, what, str(late)], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(size)]
        test.addCleanup(self.end)
        for rank in self.ranks:
            line = rank.stdout.readline()
            test.assertEqual(line, "ready\n", rank.stderr.read() if not line else line)

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait(LIMIT_S)
            rank.stdout.close()
            rank.stderr.close()

    def pids(self):
        return [rank.pid for rank in self.ranks]

    def text(self, command="VERBOSE STATUS", **options):
        with Client(self.port, **options) as client:
            client.send(command + "\n")
            return client.all()

    def data(self):
        with Client(self.port) as client:
            assert client.ask("SET FORMAT json") == "OK"
            client.send("STATUS\n")
            return json.loads(client.all())

    def comm(self, name=None):
        return next(comm for comm in self.data()["communicators"] if comm["name"] == (name or self.name))

    def part(self, kind, text):
        """Of the lines about the communicator that have `kind`, such as MISMATCH."""
        found = re.search(rf"(?ms)^#\d+-\d+ '{self.name}' \([0-9a-f]+-[0-9a-f]+\) {kind}\n(.*?)\n\n", text)
        return found[1] if found else None
