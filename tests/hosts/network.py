# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: network namespaces connected by veth, each with a decoy interface whose address is the
same on every host. Needs root and ip (iproute2)."""
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

from cases import run_cases  # noqa: E402

TAG = f"rondo{os.getpid()}"


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Network:
    """A bridge in its own namespace, and `count` namespaces connected to it."""

    def __init__(self, count):
        self.names = [f"{TAG}h{i}" for i in range(count)]
        self.bridge = f"{TAG}b"

    def __enter__(self):
        ip("netns", "add", self.bridge)
        ip("-n", self.bridge, "link", "add", "br0", "type", "bridge")
        ip("-n", self.bridge, "link", "set", "br0", "up")
        for i, name in enumerate(self.names):
            self.add_host(i, name)
        return self

    def add_host(self, i, name):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", "fabric0", "netns", name, "type", "veth", "peer", "name", f"port{i}", "netns", self.bridge)
        ip("-n", self.bridge, "link", "set", f"port{i}", "master", "br0", "up")
        ip("-n", name, "addr", "add", f"10.77.0.{i + 1}/24", "dev", "fabric0")
        ip("-n", name, "link", "set", "fabric0", "up")
        ip("-n", name, "link", "add", "docker0", "type", "veth", "peer", "name", "nowhere")
        ip("-n", name, "addr", "add", "172.17.0.1/16", "dev", "docker0")
        ip("-n", name, "link", "set", "docker0", "up")

    def cut_off(self, host):
        """The host, by its number, hears nothing any more, and nothing is heard of it."""
        ip("-n", self.bridge, "link", "set", f"port{host}", "down")

    def __exit__(self, *_):
        for name in [*self.names, self.bridge]:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def rank_variables(placed, rank):
    """What a launcher sets for a rank, if `placed` has each rank's host."""
    host = placed[rank]
    return {"RANK": str(rank), "WORLD_SIZE": str(len(placed)), "LOCAL_RANK": str(placed[:rank].count(host)),
            "LOCAL_WORLD_SIZE": str(placed.count(host)), "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29600"}


def possible():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    made = subprocess.run(["ip", "netns", "add", f"{TAG}x"], capture_output=True, check=False).returncode == 0
    subprocess.run(["ip", "netns", "del", f"{TAG}x"], capture_output=True, check=False)
    return made


def main():
    """Runs the tests of the program; without network namespaces it exits with 77."""
    if not possible():
        print("skipped: network namespaces need root and iproute2")
        sys.exit(77)
    run_cases()
