# SPDX-License-Identifier: Apache-2.0
"""check_ras_strangers.py RAS-JOB: a job that answers ncclras, beside too many clients, other users, and processes that
lie."""
import contextlib
import os
import shutil
import socket
import struct
import subprocess
import sys
import time
import unittest

from ras_jobs import HAS_OWN_NETWORK, Client, Job, descriptors, free_port

from cases import LIMIT_S, WaitingCase, run_cases
from pretender import Pretender


MARK = b"rdo-ras1"  # with which processes begin what they say
OTHER_UID, NOBODY_UID = 12345, 65534
REFUSAL = "ERROR: only the user of this process is answered: run ncclras as that user\n"


def text_bytes(text):
    return struct.pack("<I", len(text)) + text


def process(count, name=b"pretended"):
    """What a process says that has `count` communicators, with two ranks each."""
    nothing = text_bytes(b"")
    ranks = [struct.pack("<QQiiiii", 7, at, 0, 0, 2, 1, -1) + text_bytes(name) + struct.pack("<Ii", 0, 0) + nothing +
             struct.pack("<BBBI", 0, 0, 0, 0) + nothing + struct.pack("<Qqqi", 0, -1, -1, -1) + nothing + bytes(8 * 11)
             for at in range(count)]
    return MARK + text_bytes(b"host") + struct.pack("<iII", os.getpid(), 0, count) + b"".join(ranks)


def pretender(text):
    """A process of this user that says `text` when others ask it; None: it keeps them waiting."""
    return Pretender(f"rondo-ras-{os.geteuid()}-{os.getpid()}-{'0' * 16}", text)


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", "--clear-groups"]


def told(ask_as, port, commands, host="127.0.0.1", own_port=0):
    """What a client gets that begins with the words `ask_as`, as setpriv and nsenter do."""
    asking = ("import socket, sys\nhost, port, own_port, commands = sys.argv[1:]\n"
              "one = socket.socket()\none.settimeout(30)\none.bind(('', int(own_port)))\n"
              "one.connect((host, int(port)))\none.sendall(commands.encode())\ntext = b''\n"
              "while chunk := one.recv(65536): text += chunk\nprint(text.decode(), end='')")
    return subprocess.run([*ask_as, sys.executable, "-c", asking, host, str(port), str(own_port), commands], check=True,
                          text=True, stdout=subprocess.PIPE, cwd="/", timeout=LIMIT_S).stdout


class Strangers(WaitingCase):
    def test_too_many_clients(self):
        job = Job(self, "run", size=2)
        before = [descriptors(pid) for pid in job.pids()]
        calls = job.comm()["ranks"][0]["latest_call"]
        kept = []
        for at in range(300):
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(("127.0.0.1", job.port))
            if at % 3 == 0:
                with contextlib.suppress(OSError):
                    one.send(b"CLIENT PROTOCOL 2\n")
            kept.append(one)
        self.awaited(lambda text: job.name in text, job.text)  # it may be the oldest of the clients for a while
        for pid, count in zip(job.pids(), before):
            self.assertLess(descriptors(pid), count + 30)
        for one in kept:
            one.close()
        self.awaited(lambda counts: counts == before, lambda: [descriptors(pid) for pid in job.pids()])
        self.assertGreater(job.comm()["ranks"][0]["latest_call"], calls)

    def test_clients_that_never_read(self):
        job = Job(self, "run", size=2)
        before = sum(descriptors(pid) for pid in job.pids())
        with pretender(process(1000, b"n" * 4000)):
            size = len(job.text())
            self.assertGreater(size, 4_000_000)
            began = time.monotonic()
            kept = [Client(job.port, receive_bytes=1) for _ in range(4)]
            for client in kept:
                client.send("VERBOSE STATUS\n")
            self.awaited(lambda count: count > before, lambda: sum(descriptors(pid) for pid in job.pids()))
            time.sleep(1)
            self.assertIn(job.name, job.text())
            held = sum(descriptors(pid) for pid in job.pids())
            if time.monotonic() - began < 4:  # they are dropped after 5 s, which a busy machine may take for this
                self.assertGreaterEqual(held, before + len(kept))
            self.awaited(lambda count: count == before, lambda: sum(descriptors(pid) for pid in job.pids()))
        for client in kept:
            with client, contextlib.suppress(ConnectionError):
                self.assertLess(len(client.all()), size)

    def test_processes_of_this_user_that_lie_or_say_nothing(self):
        job = Job(self, "sleep", size=2)
        unknown, long = "what this version of Rondo does not understand", "too much"
        for said, words in ((b"nonsense", unknown), (MARK, unknown), (MARK + b"\xff" * 100, unknown),
                            (process(1)[:-1], unknown), (b"x" * (5 << 20), long)):
            with pretender(said):
                text = job.text()
            self.assertIn(f"\n  Process {os.getpid()} says {words}\n", text)
            self.assertIn(job.name, text)
        with pretender(None), Client(job.port) as client:
            self.assertEqual(client.ask("TIMEOUT 1"), "OK")
            began = time.monotonic()
            client.send("VERBOSE STATUS\n")
            text = client.all()
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertIn(f"\n  Process {os.getpid()} has not answered in time\n", text)
        self.assertIn(job.name, text)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_another_user_is_refused(self):
        job = Job(self, "sleep", size=2)
        self.assertEqual(told(as_user(OTHER_UID), job.port, "CLIENT PROTOCOL 2\nSTATUS\n"), REFUSAL)
        other = Job(self, "sleep", size=2, prefix=as_user(OTHER_UID))
        with self.assertRaises(PermissionError):
            other.text()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_names_that_another_user_has_made_up(self):
        job = Job(self, "sleep", size=2)
        script = ("import os, socket, sys\nname = f'\\0rondo-ras-{sys.argv[1]}-{os.getpid()}-1'\n"
                  "listener = socket.socket(socket.AF_UNIX)\nlistener.bind(name)\nlistener.listen(0)\nkept = []\n"
                  "try:\n while True:\n  kept.append(socket.socket(socket.AF_UNIX))\n"
                  "  kept[-1].setblocking(False)\n  kept[-1].connect(name)\n"
                  "except BlockingIOError:\n print('full', flush=True)\nsys.stdin.read()\n")
        with subprocess.Popen([*as_user(OTHER_UID), sys.executable, "-c", script, str(os.geteuid())],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd="/") as other:
            self.assertEqual(other.stdout.readline(), b"full\n")
            self.assertIn("\nErrors\n======\n\nnone\n", job.text())
            other.stdin.close()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_a_user_who_cannot_be_told_gets_the_summary(self):
        # This id stands for all users that a user namespace does not have.
        job = Job(self, "loop", size=2, prefix=as_user(NOBODY_UID))
        for commands in ("VERBOSE STATUS\n", "SET FORMAT json\nSTATUS\n"):
            self.check_summary(told(as_user(NOBODY_UID), job.port, commands), job)

    def check_summary(self, text, job):
        self.assertIn("Which user asks cannot be told, so this is the summary alone.", text)
        for secret in (job.name, str(job.pids()[0]), str(job.pids()[1]), "all_reduce"):
            self.assertNotIn(secret, text)

    @unittest.skipUnless(HAS_OWN_NETWORK and shutil.which("ip"), "needs a network of its own and ip")
    def test_a_client_on_another_host_gets_the_summary_whatever_its_port(self):
        ask_as = ["nsenter", f"--target={self.another_host('10.78.0.1/24', '10.78.0.2/24')}", "--net"]
        port = free_port()
        job = Job(self, "loop", size=2, NCCL_RAS_ADDR=f"10.78.0.1:{port}")
        # The kernel names a listener of this user at the client's port if that has no other end here.
        with socket.socket() as listener:
            listener.bind(("", 0))
            listener.listen()
            for own_port in (0, listener.getsockname()[1]):
                self.check_summary(told(ask_as, port, "VERBOSE STATUS\n", "10.78.0.1", own_port), job)

    def another_host(self, own_address, its_address):
        """A process in a network namespace that is connected to this one."""
        other = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep 1000"], stdout=subprocess.PIPE)
        self.addCleanup(lambda: (other.kill(), other.wait(LIMIT_S), other.stdout.close()))
        other.stdout.readline()
        there = ["nsenter", f"--target={other.pid}", "--net"]
        pair = ["ip", "link", "add", "near0", "type", "veth", "peer", "name", "far0", "netns", str(other.pid)]
        for command in (pair, ["ip", "addr", "add", own_address, "dev", "near0"], ["ip", "link", "set", "near0", "up"],
                        [*there, "ip", "addr", "add", its_address, "dev", "far0"],
                        [*there, "ip", "link", "set", "far0", "up"]):
            subprocess.run(command, check=True)
        return other.pid


if __name__ == "__main__":
    run_cases()
