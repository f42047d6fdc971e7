# SPDX-License-Identifier: Apache-2.0
"""Two machines of tools/verbs-vm, booted once, which run one script after the other, both at the same time."""
import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BOOT_S = 240  # on a machine that is busy otherwise; it takes some 20 s
HOSTS = (0, 1)
# What a script may have left behind, and what all scripts use. Their working folder is the shared one.
PRELUDE = """
for port in 0 1; do
  ip link set eth$port up
  tc qdisc del dev eth$port root 2> /dev/null
done
export RONDO_LOG=info
seen() { until grep -qs "$1" "$2"; do sleep 0.05; done; }
"""


def why_not(root):
    """Why machines cannot be booted here; empty if they can. Debian's kernel is fetched first if it is not there."""
    done = subprocess.run([f"{root}/tools/verbs-vm", "--ready"], capture_output=True, text=True, timeout=300,
                          check=False)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


class Outcome:
    """What a script has done in one machine."""

    def __init__(self, status, output):
        self.status, self.output = status, output

    def warnings(self):
        return [line for line in self.output.splitlines() if " rondo warning] " in line]


class Machines:
    def __init__(self, root):
        self.folder = tempfile.mkdtemp(prefix="rondo-machines-")
        self.turns = 0
        self.log = open(f"{self.folder}/log", "wb")  # pylint: disable=consider-using-with  # closed by close()
        self.process = subprocess.Popen(
            [f"{root}/tools/verbs-vm", "--hosts", "2", "--seconds", "580", "--share", self.folder, "--", "bash",
             f"{HERE}/take_turns.sh"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)

    def path(self, name):
        return f"{self.folder}/{name}"

    def text(self, name):
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_for(self, what, seconds, condition):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"{what}: not within {seconds} s\n{self.text('log')}" + "".join(
                    f"\nhost {host}:\n{self.text(f'{self.turns - 1}.output.{host}')}" for host in HOSTS))
            time.sleep(0.05)

    def begin(self, script, seconds=60):
        """Has both run the script, for at most so long."""
        with open(self.path(f"{self.turns}.sh"), "w", encoding="utf-8") as file:
            file.write(PRELUDE + script)
        with open(self.path("part"), "w", encoding="ascii") as file:
            file.write(str(seconds))
        os.rename(self.path("part"), self.path(f"{self.turns}.ready"))
        self.turns += 1

    def end(self, seconds=60, hosts=HOSTS):
        """What the script that was begun has done in these machines."""
        turn = self.turns - 1
        limit = seconds + 30 + (BOOT_S if turn == 0 else 0)
        self.wait_for("the script", limit, lambda: all(self.text(f"{turn}.status.{host}") for host in hosts))
        return [Outcome(int(self.text(f"{turn}.status.{host}")), self.text(f"{turn}.output.{host}")) for host in hosts]

    def run(self, script, seconds=60):
        self.begin(script, seconds)
        return self.end(seconds)

    def qemu(self, host):
        """The process that is this machine."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            for child in file.read().split():
                with open(f"/proc/{child}/cmdline", "rb") as line:
                    if b"mac=52:54:00:00:00:%02x" % (host + 1) in line.read():
                        return int(child)
        raise AssertionError(f"host {host} does not run")

    def close(self):
        with open(self.path("over"), "w", encoding="ascii"):
            pass
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder)
