# SPDX-License-Identifier: Apache-2.0
"""An Ethernet switch between machines under QEMU, whose NICs connect to it: -netdev socket,connect=127.0.0.1:PORT.
Frames have their length in front, 4 bytes, big-endian."""
import socket
import threading


class Switch:
    """Its threads end when the machines close their connections."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.lock = threading.Lock()
        self.members = {}  # socket -> the lock of its writers
        self.known = {}  # address -> socket
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def port(self):
        return self.listener.getsockname()[1]

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                member, _ = self.listener.accept()
            except OSError:
                return
            member.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.members[member] = threading.Lock()
            threading.Thread(target=self.serve, args=(member,), daemon=True).start()

    def serve(self, member):
        with member, member.makefile("rb", buffering=1 << 16) as frames:
            while True:
                length = frames.read(4)
                frame = frames.read(int.from_bytes(length, "big"))
                if len(frame) < 12:
                    break
                for other in self.targets(member, frame):
                    self.send(other, length + frame)
        with self.lock:
            del self.members[member]

    def targets(self, member, frame):
        """Who gets the frame: the owner of its destination, or all others if that is unknown or a group."""
        destination, source = frame[:6], frame[6:12]
        with self.lock:
            self.known[source] = member
            owner = self.known.get(destination)
            if owner in self.members:
                return [owner] if owner is not member else []
            return [other for other in self.members if other is not member]

    def send(self, member, data):
        with self.lock:
            writing = self.members.get(member)
        if writing is None:
            return
        try:
            with writing:
                member.sendall(data)
        except OSError:
            pass  # the machine has ended; its thread removes it
