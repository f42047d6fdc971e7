# SPDX-License-Identifier: Apache-2.0
"""check_ps_strangers.py RONDO-PS RONDO-RUN PS-JOB: rondo-ps beside other users, containers, and processes that lie; and
what clients of all kinds cannot do to a job."""
import contextlib
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ps_jobs import JOB, PS, RUN, PsCase, names, pretender, session_of

from cases import LIMIT_S, run_cases
from ps_answers import comm, process


OTHER_UID = 65534


def connected(name):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.settimeout(LIMIT_S)
    one.connect("\0" + name)
    return one


def received(one):
    chunks = []
    while True:
        chunk = one.recv(1 << 20)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)


class Strangers(PsCase):
    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_another_user_sees_nothing_and_makes_nothing_up(self):
        self.jobs.start(JOB, "sleep", "1", ranks=2)
        before = self.output("--json")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            shutil.copy(PS, folder)
            other = ["setpriv", f"--reuid={OTHER_UID}", "--clear-groups", sys.executable]
            run = subprocess.run([*other, os.path.join(folder, "rondo-ps")], capture_output=True, text=True, cwd="/",
                                 timeout=LIMIT_S, check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr),
                             (0, "no process of this user uses Rondo on this host\n", ""))
            reading = ("import socket, sys\nfor name in sys.argv[1:]:\n one = socket.socket(socket.AF_UNIX)\n"
                       " one.connect(chr(0) + name)\n one.settimeout(30)\n print(len(one.recv(100)))")
            run = subprocess.run([*other, "-c", reading, *names()], capture_output=True, text=True, cwd="/",
                                 timeout=LIMIT_S, check=False)
            self.assertEqual((run.returncode, run.stdout), (0, "0\n0\n"), run.stderr)
            lie = json.dumps({"format": "rondo-flight"})
            lying = (f"import socket\none = socket.socket(socket.AF_UNIX)\n"
                     f"one.bind(chr(0) + 'rondo-ps-0-1-{0:016x}')\none.listen()\nprint('ready', flush=True)\n"
                     f"while True: one.accept()[0].sendall({lie!r}.encode())")
            self.jobs.start(*other, "-c", lying)
        self.assertEqual(len(names()), 3)
        after = self.data()
        self.assertEqual([one["id"] for one in after["jobs"]], [one["id"] for one in json.loads(before)["jobs"]])
        self.assertEqual(after["silent"], [])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_namespaces(self):
        self.jobs.start(JOB, "sleep", "1", ranks=2)
        for options, wanted in ((["--net"], "no process of this user uses Rondo on this host\n"),
                                (["--pid", "--fork", "--mount-proc"], "2 more with process ids that are not visible "
                                 "here: run rondo-ps in their PID namespace\n")):
            self.assertEqual(self.output(prefix=["unshare", *options]), wanted)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root and unshare")
    def test_the_same_process_ids_in_two_containers(self):
        apart = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"]
        run = [RUN, "-n", "2", JOB, "sleep", "1"]
        silent = " ".join(["true; exec", *run[:-3], "sh -c '[ $RANK = 0 ] || export RONDO_PS=0; exec", *run[-3:], "'"])
        first = self.jobs.start(*apart, silent)
        self.jobs.start(*apart, " ".join(["true; exec", *run]))
        comms = self.awaited(lambda comms: all(comm["stuck"] for comm in comms), lambda: [
            comm for one in self.data()["jobs"] for comm in one["communicators"]])
        missing = [comm["story"] for comm in comms if comm["missing_ranks"] == [1]]
        self.assertEqual((len(comms), len(missing)), (2, 1))
        self.assertRegex(missing[0][0], r"^rank 1 of 'world': process \d+ has no socket for rondo-ps: it sleeps")
        pid = int(missing[0][0].split("process ")[1].split()[0])
        self.assertEqual(session_of(pid), session_of(first.pid))

    def test_processes_of_this_user_that_lie(self):
        wrong = comm(0, 2, here=[[0, 1], [1, "x"]])
        said = [b"", b"nonsense\x1b[2J", process(omitted=None), b"x" * (17 << 20), process(wrong), None]
        wanted = ["does not answer", "this is not JSON", "the file.omitted is null|the answer.omitted is null",
                  "says more than 16 MiB", r"communicators\[0\].here has \[1, \"x\"\]", "does not answer"]
        for text, words in zip(said, wanted):
            pattern = re.compile(rf"(?m)^process {os.getpid()} .*({words})")
            with pretender(text):
                began = time.monotonic()
                out = self.output()
                self.assertLess(time.monotonic() - began, 20)
                if len(text or b"") > 1 << 20:  # which a busy host may not have read in time
                    out = self.awaited(pattern.search, self.output)
            self.assertRegex(out, pattern)
            self.assertEqual(out.count("\n"), 1)
            self.assertNotIn("\x1b", out)

    def test_ranks_that_say_nothing(self):
        sleeper = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(sleeper.wait, LIMIT_S)
        self.addCleanup(sleeper.kill)
        here = [[0, os.getpid()], [1, 1 << 30], [2, sleeper.pid], [3, os.getpid()]]
        with pretender(process(comm(0, 7, waits_for=1, here=here), omitted=5)):
            text = self.output()
        self.assertIn(f"    rank 1 of 'dp': process {1 << 30} has ended; rank 0 waits for it\n", text)
        self.assertRegex(text, rf"    rank 2 of 'dp': process {sleeper.pid} has no socket for rondo-ps: it sleeps")
        self.assertIn(f"    rank 3 of 'dp': process {os.getpid()} says nothing of 5 of its communicators\n", text)
        self.assertIn("    ranks 4 to 6 of 'dp': on other hosts\n", text)
        self.assertRegex(text, r"(?m)^ +4 to 6  +on other hosts$")
        contradiction = process(comm(0, 2, here=[]), comm(0, 2, here=[]))
        with pretender(contradiction):
            self.assertIn(f"process {os.getpid()} contradicts others: rank 0 of communicator 'dp' is also in",
                          self.output())

    def test_more_processes_than_descriptors(self):
        pretenders = [pretender(process(comm(0, 2, id=f"{at}-1"))) for at in range(40)]
        with contextlib.ExitStack() as all_of_them:
            for one in pretenders:
                all_of_them.enter_context(one)
            text = self.output("--json", prefix=["sh", "-c", "ulimit -n 20; exec \"$@\"", "sh"])
        # All of them are this process.
        self.assertEqual(len(json.loads(text)["jobs"]), 1)

    def test_clients_of_all_kinds_disturb_neither_the_job_nor_others(self):
        job = self.jobs.start(JOB, "run", "9", ranks=2)
        name = names()[0]
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
        pid = int(name.split("-")[3])
        fds = len(os.listdir(f"/proc/{pid}/fd"))
        kept = []
        for at in range(1000):
            one = socket.socket(socket.AF_UNIX)
            one.setblocking(False)
            try:
                one.connect("\0" + name)
                if at % 3 == 0:
                    one.send(b"GET / HTTP/1.1\r\n\r\n" * 10)
            except OSError:
                pass  # its queue is full
            kept.append(one)
        self.assertLess(len(os.listdir(f"/proc/{pid}/fd")), fds + 20)
        before = self.comm_of(job)
        self.assertFalse(before["stuck"])
        after = self.awaited(lambda comm: len(comm["ranks"]) == 2, lambda: self.comm_of(job))
        self.assertFalse(after["stuck"])
        for one in kept:
            one.close()
        self.awaited(lambda count: count <= fds, lambda: len(os.listdir(f"/proc/{pid}/fd")))
        self.assertGreater(min(rank["calls_per_s"] for rank in self.comm_of(job)["ranks"]), 0)
        with connected(name) as one:
            self.assertEqual(json.loads(received(one))["format"], "rondo-flight")


if __name__ == "__main__":
    run_cases()
