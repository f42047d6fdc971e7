# SPDX-License-Identifier: Apache-2.0
"""Ports for programs that a test starts."""
import random
import socket


def free_port():
    """A TCP port on which no process listens, below the system's range for outgoing connections, so that none of these
    takes it before the program does."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as found:
            try:
                found.bind(("", port))
                return port
            except OSError:
                continue  # it is in use
