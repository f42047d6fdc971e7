# SPDX-License-Identifier: Apache-2.0
"""tools/verbs-vm without its machines: its options, and the switch that joins them. Argument: the source tree."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "tools/verbs_vm"))
sys.dont_write_bytecode = True

from switch import Switch  # noqa: E402

ADDRESSES = [b"\x52\x54\0\0\0" + bytes([number]) for number in range(3)]
EVERYONE = b"\xff" * 6


def frame(destination, source, data):
    content = destination + source + data
    return len(content).to_bytes(4, "big") + content


class Joined(unittest.TestCase):
    def setUp(self):
        self.switch = Switch()
        self.addCleanup(self.switch.close)
        self.ends = [socket.create_connection(("127.0.0.1", self.switch.port)) for _ in range(3)]
        for end in self.ends:
            self.addCleanup(end.close)
            end.settimeout(10)
        # Each makes itself known; all are members once every other has heard it.
        for number, end in enumerate(self.ends):
            self.until_heard(number, end)

    def until_heard(self, number, end):
        greeting = frame(EVERYONE, ADDRESSES[number], bytes([number]))
        others = [other for other in self.ends if other is not end]
        heard = set()
        for other in others:
            other.settimeout(0.05)
        while len(heard) < len(others):
            end.sendall(greeting)
            for other in others:
                try:
                    while other.recv(len(greeting), socket.MSG_WAITALL):
                        heard.add(other)
                except TimeoutError:
                    pass
        for other in others:
            other.settimeout(10)

    def nothing_for(self, end):
        end.settimeout(0.1)
        with self.assertRaises(TimeoutError):
            end.recv(1)

    def test_a_frame_goes_to_its_owner_alone(self):
        sent = frame(ADDRESSES[2], ADDRESSES[0], b"x" * 4000)
        self.ends[0].sendall(sent)
        self.assertEqual(self.ends[2].recv(len(sent), socket.MSG_WAITALL), sent)
        self.nothing_for(self.ends[1])
        self.nothing_for(self.ends[0])

    def test_a_frame_for_a_group_or_an_unknown_address_goes_to_all_others(self):
        for destination in (EVERYONE, b"\x52\x54\0\0\0\x09"):
            sent = frame(destination, ADDRESSES[1], b"hello")
            self.ends[1].sendall(sent)
            for number in (0, 2):
                self.assertEqual(self.ends[number].recv(len(sent), socket.MSG_WAITALL), sent)
            self.nothing_for(self.ends[1])

    def test_a_machine_that_ends_is_forgotten(self):
        self.ends[2].close()
        sent = frame(ADDRESSES[2], ADDRESSES[0], b"gone")
        for _ in range(100):
            self.ends[0].sendall(sent)
        self.ends[0].sendall(frame(ADDRESSES[1], ADDRESSES[0], b"after"))
        end = frame(ADDRESSES[1], ADDRESSES[0], b"after")
        received = b""
        while not received.endswith(end):
            more = self.ends[1].recv(4096)
            self.assertTrue(more)
            received += more


class Options(unittest.TestCase):
    def test_invalid_options_are_named(self):
        for words, said in ((["--hosts", "none", "--", "true"], "--hosts is 'none'"),
                            (["--seconds"], "--seconds needs"),
                            (["--share", "/no/such", "--", "true"], "no such folder"), (["true"], "-- must precede"),
                            (["--what"], "no such option '--what'"), (["--"], "no command is given")):
            result = subprocess.run([os.path.join(ROOT, "tools/verbs-vm"), *words], capture_output=True, text=True,
                                    timeout=20, check=False)
            self.assertEqual(result.returncode, 2, (words, result))
            self.assertIn(said, result.stderr)

    def test_ready_names_what_is_missing_and_installs_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("bash", "dirname", "cpio"):
                os.symlink(shutil.which(name) or "/bin/true", os.path.join(folder, name))
            result = subprocess.run([os.path.join(ROOT, "tools/verbs-vm"), "--ready"], capture_output=True, text=True,
                                    timeout=20, env={"PATH": folder}, check=False)
        self.assertEqual(result.returncode, 77, result)
        self.assertEqual(result.stdout, "tools/verbs-vm: not installed: qemu-system-x86 busybox-static kmod iproute2 "
                         "ibverbs-providers\n")


if __name__ == "__main__":
    unittest.main(verbosity=1)
