# SPDX-License-Identifier: Apache-2.0
"""rondo-ps and jobs, as tests start them; takes the first arguments of the test's program: RONDO-PS, RONDO-RUN and
PS-JOB."""
import contextlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))

import own_network  # noqa: E402
from cases import LIMIT_S, WaitingCase  # noqa: E402
from pretender import Pretender  # noqa: E402

own_network.enter()  # other programs of this user may be ranks
PS, RUN, JOB = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("RONDO_PS", "RANK", "WORLD_SIZE")}
RANK = {"rank": int, "host": str, "pid": int, "latest": int, "activity": str, "place": str, "ended": bool, "state": str,
        "transports": str, "calls": int, "bytes": int, "calls_per_s": (float, type(None)), "in_call": bool,
        "bytes_per_s": (float, type(None)), "for_s": (float, type(None)), "waits_for": (int, type(None)),
        "messages": (str, type(None)), "latest_call": (dict, type(None))}
COMM = {"name": str, "id": str, "size": int, "latest": int, "story": list, "late_ranks": list, "missing_ranks": list,
        "waiting_ranks": list, "failure": (dict, type(None)), "mismatch": (dict, type(None)), "ranks": list,
        "stuck": bool}
NUMBERS = itertools.count(1)  # of pretenders
PROCESS = {"pid": int, "command": str, "state": str, "cpu": (float, type(None)), "problem": (str, type(None))}


def names():
    with open("/proc/net/unix", encoding="utf-8") as file:
        return re.findall(rf" @(rondo-ps-{os.geteuid()}-\d+-[0-9a-f]+)$", file.read(), re.M)


def session_of(pid):
    """The process that a job was started as; None: it has ended."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def kill_session(pid):
    for one in os.listdir("/proc"):
        if one.isdigit() and session_of(int(one)) == pid:
            with contextlib.suppress(ProcessLookupError):  # it may just have ended
                os.kill(int(one), signal.SIGKILL)


def pretender(text):
    """This process as one that uses Rondo, which says `text`; None: it keeps clients waiting."""
    return Pretender(f"rondo-ps-{os.geteuid()}-{os.getpid()}-{next(NUMBERS):016x}", text)


class Jobs:
    """Jobs that end with this."""

    def __init__(self, test):
        self.test = test

    def start(self, *command, ranks=0, **environment):
        """Starts a job and waits until all its ranks are ready; with ranks, by rondo-run."""
        launcher = [RUN, "-n", str(ranks)] if ranks else []
        job = subprocess.Popen([*launcher, *command], env={**ENVIRONMENT, "RONDO_TIMEOUT": "300", **environment},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        self.test.addCleanup(self.end, job)
        lines = []
        while sum("ready" in line for line in lines) < (ranks or 1):
            line = job.stdout.readline()
            self.test.assertTrue(line, f"the job has ended: {lines}")
            lines.append(line)
        return job

    @staticmethod
    def end(job):
        kill_session(job.pid)
        job.wait(LIMIT_S)
        job.stdout.close()


class PsCase(WaitingCase):
    def setUp(self):
        self.jobs = Jobs(self)

    @staticmethod
    def ran(*options, prefix=(), **more):
        return subprocess.run([*prefix, sys.executable, PS, *options], **{
            "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": LIMIT_S, "check": False,
            "env": ENVIRONMENT, **more})

    def output(self, *options, **more):
        run = self.ran(*options, **more)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run.stdout

    def has_types(self, value, types):
        self.assertEqual(set(types) - set(value), set())
        for name, wanted in types.items():
            self.assertIsInstance(value[name], wanted, name)

    def data(self):
        data = json.loads(self.output("--json"))
        self.assertEqual((data["format"], data["version"], data["host"]), ("rondo-ps", 1, socket.gethostname()))
        for process in data["silent"] + [one for job in data["jobs"] for one in job["processes"]]:
            self.has_types(process, PROCESS)
        for comm in [one for job in data["jobs"] for one in job["communicators"]]:
            self.has_types(comm, COMM)
            for rank in comm["ranks"]:
                self.has_types(rank, RANK)
        return data

    def comm_of(self, job, name="world"):
        """What is said of the only communicator with a name, of a job that was started here."""
        found = [comm for one in self.data()["jobs"] for comm in one["communicators"] if comm["name"] == name and
                 {session_of(process["pid"]) for process in one["processes"]} == {job.pid}]
        self.assertEqual(len(found), 1)
        return found[0]

    def stuck(self, job, name="world"):
        return self.awaited(lambda comm: comm["stuck"], lambda: self.comm_of(job, name))
