# SPDX-License-Identifier: Apache-2.0
"""check_ras_listening.py RAS-JOB: where a job listens for ncclras, and that it does not if it cannot or need not."""
import contextlib
import os
import re
import signal
import socket
import time

from ras_jobs import Client, Job, free_port

from cases import LIMIT_S, WaitingCase, run_cases



def names():
    """At which processes of this user ask one another."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return set(re.findall(rf" @(rondo-ras-{os.geteuid()}-\d+-[0-9a-f]+)$", file.read(), re.M))


class Listening(WaitingCase):
    def test_both_loopback_addresses(self):
        job = Job(self, "sleep", size=2)
        try:
            text = job.text(host="::1")
        except OSError as error:
            self.skipTest(f"::1: {error}")
        self.assertIn(job.name, text)

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for level, says in (("debug", True), ("info", False), ("warn", False)):
                job = Job(self, "loop", size=2, NCCL_RAS_ADDR=address, RONDO_LOG=level)
                time.sleep(0.1)
                for rank in job.ranks:
                    rank.kill()
                    err = rank.stderr.read()
                    self.assertEqual(f"RAS: cannot listen on {address}: Address already in use" in err, says, err)
                    self.assertTrue(says or level == "info" or not err, err)

    def test_an_address_that_cannot_be_used(self):
        for address, has_effect in (("localhost", False), ("host.example:28028", False), ("1.2.3.4:0", False),
                                    ("[::1:28028", False), (f"127.0.0.1:{free_port()}", True)):
            job = Job(self, "run", size=1, NCCL_RAS_ADDR=address)
            for rank in job.ranks:
                rank.kill()
                warning = f"NCCL_RAS_ADDR={address} has no effect: where they listen"
                err = rank.stderr.read()
                self.assertEqual(warning in err, not has_effect, err)

    def test_the_switch(self):
        before = names()
        job = Job(self, "loop", size=2, NCCL_RAS_ENABLE="0")
        self.assertEqual(names() - before, set())
        with self.assertRaises(ConnectionRefusedError):
            job.text()

    def test_a_forked_child_keeps_nothing(self):
        job = Job(self, "fork", late=0, size=2)
        child = self.awaited(lambda children: len(children) == 1, lambda: self.children_of(job.pids()[0]))[0]
        try:
            self.awaited(lambda left: not left, lambda: self.sockets_of(child) & self.sockets_of(job.pids()[0]))
            self.assertIn(job.name, job.text())
            for rank in job.ranks:
                rank.kill()
                rank.wait(LIMIT_S)
            with self.assertRaises(ConnectionRefusedError):
                Client(job.port)
        finally:
            os.kill(child, signal.SIGKILL)

    @staticmethod
    def children_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(one) for one in file.read().split()]

    @staticmethod
    def sockets_of(pid):
        """Those that listen, by their inodes."""
        inodes = set()
        for one in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(f"/proc/{pid}/fd/{one}")))
        return inodes


if __name__ == "__main__":
    run_cases()
