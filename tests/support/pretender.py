# SPDX-License-Identifier: Apache-2.0
"""A process that pretends to use Rondo."""
import contextlib
import socket
import threading

from cases import LIMIT_S


class Pretender:
    """This process at an abstract Unix socket, where it says `text` to all clients; None: it keeps them waiting."""

    def __init__(self, name, text):
        self.text = text
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind("\0" + name)
        self.listener.listen()
        self.listener.settimeout(0.1)
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.serve)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join(LIMIT_S)
        self.listener.close()

    def serve(self):
        with contextlib.ExitStack() as kept:
            while not self.is_over.is_set():
                try:
                    client = self.listener.accept()[0]
                except TimeoutError:
                    continue
                if self.text is None:
                    kept.enter_context(client)
                    continue
                with client, contextlib.suppress(OSError):  # it has had enough
                    client.settimeout(LIMIT_S)
                    client.sendall(self.text)
