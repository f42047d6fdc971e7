# SPDX-License-Identifier: Apache-2.0
"""Runs shell scripts on two hosts at the same time, as the two ranks of a job."""
import concurrent.futures
import secrets
import shlex
import subprocess
import time

ROWS = "=== rows"


class Ended:
    """What a script has done on a host. status: None after its time limit."""

    def __init__(self, status, output, seconds):
        self.status, self.seconds = status, seconds
        self.output, _, self.rows = output.partition(ROWS + "\n")


class Hosts:
    def __init__(self, names, remote, address, port):
        self.names, self.remote, self.address, self.port = names, remote, address, port
        self.secret = secrets.token_hex(32)

    def run(self, index, script, seconds):
        """Runs the script on a host. It goes by standard input: what it sets, such as the secret, must not be on a
        command line. If the way to the host breaks, the host ends it."""
        command = [word.replace("{host}", self.names[index]) for word in shlex.split(self.remote)]
        limited = f"timeout -k 5 {seconds} bash <<'END_OF_SCRIPT'\n{script}\nEND_OF_SCRIPT\n"
        began = time.monotonic()
        try:
            done = subprocess.run(command, input=limited, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=seconds + 30, check=False)
            status, output = done.returncode if done.returncode != 124 else None, done.stdout
        except subprocess.TimeoutExpired as late:
            status, output = None, (late.stdout or b"").decode(errors="replace")
        return Ended(status, output, time.monotonic() - began)

    def run_job(self, script, seconds):
        """Runs it on both, as ranks 0 and 1. Every job has a port of its own: that of an earlier one may be busy."""
        self.port += 1
        variables = (f"export WORLD_SIZE=2 MASTER_ADDR={self.address} MASTER_PORT={self.port} "
                     f"RONDO_SECRET={self.secret} LOCAL_RANK=0 LOCAL_WORLD_SIZE=1\n")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda rank: self.run(rank, f"export RANK={rank}\n{variables}{script}", seconds),
                                 (0, 1)))
