# SPDX-License-Identifier: Apache-2.0
"""check_ras_protocol.py RAS-JOB: the protocol of ncclras, and clients that do not keep to it."""
import contextlib
import os
import socket
import time
import unittest

from ras_jobs import Client, Job

from cases import run_cases


NO_MONITOR = "ERROR: Rondo has no MONITOR: ask for STATUS again, or run rondo-ps --watch"


class Protocol(unittest.TestCase):
    def test_commands(self):
        job = Job(self, "sleep", size=2)
        with Client(job.port, handshake=False) as client:
            for command, answer in (
                    ("client protocol 1", "SERVER PROTOCOL 2"), ("Timeout 3", "OK"), ("TIMEOUT 0", "OK"),
                    ("TIMEOUT 2147483647", "OK"), ("TIMEOUT", "ERROR: unknown command 'TIMEOUT'"),
                    ("TIMEOUT -1", "ERROR: invalid timeout '-1'"), ("TIMEOUT 5s", "ERROR: invalid timeout '5s'"),
                    ("TIMEOUT 99999999999999", "ERROR: invalid timeout '99999999999999'"),
                    ("SET FORMAT yaml", "ERROR: invalid format 'yaml'"), ("set format JSON", "OK"),
                    ("SET FORMAT text", "OK"),
                    ("", "ERROR: unknown command ''"), ("STATUS now", "ERROR: unknown command 'STATUS now'"),
                    ("\x1b[2J\r", "ERROR: unknown command '\\u001b[2J'"),
                    ("x" * 1000, f"ERROR: unknown command '{'x' * 100}'"),
                    ("MONITOR", NO_MONITOR), ("monitor lifecycle", NO_MONITOR)):
                self.assertEqual(client.ask(command), answer)
            client.send("verbose status\r\n")
            self.assertIn(job.name, client.all())

    def test_commands_in_pieces_and_at_once(self):
        job = Job(self, "sleep", size=2)
        with Client(job.port, handshake=False) as client:
            for letter in "verbose status\n":
                client.send(letter)
                time.sleep(0.01)
            self.assertIn("\nRanks\n", client.all())
        with Client(job.port, handshake=False) as client:
            client.send("CLIENT PROTOCOL 2\nSET FORMAT json\nSTATUS\n" + "what follows is not read\n" * 100)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.all().startswith("SERVER PROTOCOL 2\nOK\n{"))

    def test_clients_that_do_not_keep_to_the_limits_are_cut_off(self):
        job = Job(self, "sleep", size=2)
        for nonsense in (b"x" * 5000, b"x" * 1024, os.urandom(4096).replace(b"\n", b"x"), b"\n" * 40, b"\0" * 2000):
            with Client(job.port, handshake=False) as client:
                client.send(nonsense)
                if nonsense[:1] == b"\n":
                    client.send("")
                else:
                    self.assertTrue(client.hangs_up())
                    continue
                with contextlib.suppress(ConnectionError):
                    self.assertLessEqual(client.all().count("ERROR"), 32)
        with Client(job.port, handshake=False) as client:
            client.send("STATU")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.hangs_up())
        self.assertIn(job.name, job.text())


if __name__ == "__main__":
    run_cases()
