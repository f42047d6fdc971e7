# SPDX-License-Identifier: Apache-2.0
"""A network namespace of the test's own: there it sees no other processes that use Rondo."""
import ctypes
import fcntl
import socket
import struct

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS, IFF_UP, IFF_LOOPBACK, IFF_RUNNING = 0x8914, 0x1, 0x8, 0x40


def enter():
    """To be called before there are threads. False: it takes root's rights, and nothing was done."""
    if ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        return False
    with socket.socket() as one:
        fcntl.ioctl(one, SIOCSIFFLAGS, struct.pack("16sh", b"lo", IFF_UP | IFF_LOOPBACK | IFF_RUNNING))
    return True
