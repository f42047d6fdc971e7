# SPDX-License-Identifier: Apache-2.0
"""check_ps_hosts.py RONDO-PS PS-JOB: what rondo-ps on one of several hosts (network.py) says of a job's ranks on all of
them: where it runs, hangs, where a process is stopped or a host cut off, and what strangers get. Exits 77 without root
and iproute2."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

from network import Network, main, rank_variables

from cases import LIMIT_S, WaitingCase
from ps_answers import comm, process

PS, JOB = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
SESSION = "1" * 16  # that this test makes up
NAMES = ("alpha", "beta", "gamma")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("RONDO_PS")}
ENVIRONMENT.update(RONDO_TIMEOUT="300", RONDO_UNREACHABLE="60")


def on_host(hosts, host, *command):
    """A command there, where the host has a name of its own."""
    return ["ip", "netns", "exec", hosts.names[host], "unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"',
            NAMES[host], *command]


class Ranks:
    """A job's ranks, each on the host that `placed` says, until it ends; as ps_job.cc says what it does."""

    def __init__(self, hosts, placed, *words, of_ranks=None, **variables):
        self.processes = []
        for rank, host in enumerate(placed):
            environment = {**ENVIRONMENT, **rank_variables(placed, rank), "RONDO_SECRET": "a horse", **variables,
                           **(of_ranks or {}).get(rank, {})}
            self.processes.append(subprocess.Popen(on_host(hosts, host, JOB, *words), env=environment, text=True,
                                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT))

    def __enter__(self):
        for process in self.processes:
            line = process.stdout.readline()
            if line != "ready\n":
                self.__exit__()
                raise AssertionError(f"the job has ended: {line}")
        return self

    def pid(self, rank):
        return self.processes[rank].pid

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait(LIMIT_S)
            process.stdout.close()


class PsHosts(WaitingCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.hosts = self.stack.enter_context(Network(3))

    def start(self, placed, *words, **options):
        return self.stack.enter_context(Ranks(self.hosts, placed, *words, **options))

    def output(self, *options, host=0):
        run = subprocess.run(on_host(self.hosts, host, sys.executable, PS, *options), capture_output=True, text=True,
                             timeout=LIMIT_S, check=False, env=ENVIRONMENT)
        self.assertEqual((run.returncode, run.stderr), (0, ""), run.stdout)
        return run.stdout

    def job(self, host=0):
        jobs = json.loads(self.output("--json", host=host))["jobs"]
        self.assertEqual(len(jobs), 1)
        self.assertIsNone(jobs[0]["not_asked"])
        return jobs[0]

    @staticmethod
    def comm_of(job, name="world"):
        return next(comm for comm in job["communicators"] if comm["name"] == name)

    def stuck(self, host=0, name="world"):
        return self.awaited(lambda job: any(comm["stuck"] and comm["name"] == name for comm in job["communicators"]),
                            lambda: self.job(host))

    def test_a_rank_in_an_endless_loop_on_another_host_is_named_from_each_host(self):
        ranks = self.start([0, 0, 1, 1, 2], "loop", "3")
        for host in range(3):
            job = self.stuck(host)
            comm = self.comm_of(job)
            self.assertEqual((comm["late_ranks"], comm["missing_ranks"]), ([3], []))
            beside = "" if host == 1 else " on host beta"
            does = r"runs \(\d+% of a CPU\)" if host == 1 else r"uses \d+% of a CPU"
            self.assertRegex(comm["story"][0], r"^rank 3 never came to all_reduce 1,001 of 'world': last in all_reduce "
                             rf"1,000, which ended \d+\.\d s before; its process \d+{beside} {does}$")
            self.assertEqual([(rank["host"], rank["pid"]) for rank in comm["ranks"]],
                             [(NAMES[at], ranks.pid(rank)) for rank, at in enumerate([0, 0, 1, 1, 2])])
            self.assertEqual({process["host"] for process in job["processes"]}, set(NAMES))
            self.assertEqual({process["problem"] for process in job["processes"]}, {None})
            self.assertEqual([rank["calls"] for rank in comm["ranks"]], [1001, 1001, 1001, 1000, 1001])
        text = self.output()
        self.assertRegex(text, r"(?m)^job [0-9a-f]{16}, 5 processes on 3 hosts: \S+ps_job loop 3$")
        self.assertRegex(text, r"(?m)^ +RANK +HOST +PID +CALLS ")
        self.assertRegex(text, rf"(?m)^ +3 +beta +{ranks.pid(3)} +1,000 +781 KiB +0 +0 B  is done with all_reduce ")
        self.awaited(lambda text: len(re.findall(r"waits for rank \d; ", text)) == 4, self.output)

    def test_ranks_that_run_have_rates_on_all_hosts(self):
        self.start([0, 1, 2], "run", "9")
        comm = self.comm_of(self.job())
        self.assertEqual(len(comm["ranks"]), 3)
        for rank in comm["ranks"]:
            self.assertGreater(rank["calls_per_s"], 0)
            self.assertAlmostEqual(rank["bytes_per_s"], 800 * rank["calls_per_s"], delta=1)

    def test_here_asks_no_other_host(self):
        self.start([0, 0, 1], "sleep", "2")
        text = self.awaited(lambda text: "waits\n" in text, lambda: self.output("--here"))
        self.assertIn("    rank 2 of 'world': on other hosts", text)
        self.assertRegex(text, r"(?m)^job [0-9a-f]{16}, 2 processes: ")
        self.assertNotIn("beta", text)

    def test_a_host_that_is_cut_off_is_named_in_time_and_the_rest_is_shown(self):
        ranks = self.start([0, 1, 1, 2], "sleep", "3")
        self.stuck()
        self.hosts.cut_off(1)
        took_s, text = [], ""
        for _ in range(5):  # a busy host may be slow once
            began_s = time.monotonic()
            text = self.output()
            took_s.append(time.monotonic() - began_s)
            self.assertRegex(text, r"(?m)^  host beta with ranks 1, 2 of the job cannot be reached: "
                                   r"(10\.77\.0\.2:\d+ did not answer|.*No route to host)$")
            if took_s[-1] < 2:
                break
        self.assertLess(min(took_s), 2, took_s)
        self.assertIn("    ranks 1, 2 of 'world': on host beta, which cannot be reached", text)
        self.assertRegex(text, r"(?m)^ +1, 2 +on host beta, which cannot be reached$")
        self.assertRegex(text, rf"(?m)^ +3 +gamma +{ranks.pid(3)} +1,000 ")
        job = self.job()
        comm = self.comm_of(job)
        self.assertEqual((comm["late_ranks"], comm["missing_ranks"]), ([3], [1, 2]))
        self.assertEqual([bool(process["problem"]) for process in job["processes"]], [False, True, True, False])
        self.assertEqual([process["host"] for process in job["processes"]], ["alpha", "beta", "beta", "gamma"])

    def test_a_stopped_process_on_another_host_did_not_answer_and_delays_nothing(self):
        ranks = self.start([0, 1, 1], "sleep", "2")
        self.stuck()
        os.kill(ranks.pid(2), signal.SIGSTOP)
        text = self.awaited(lambda text: "waits for it" in text, self.output)
        self.assertRegex(text, rf"    rank 2 of 'world': process {ranks.pid(2)} on host beta did not answer: "
                               r"10\.77\.0\.2:\d+: it did not answer; rank 1 waits for it\n")
        job = self.job()
        self.assertEqual(self.comm_of(job)["missing_ranks"], [2])
        self.assertRegex(job["processes"][2]["problem"], "^did not answer: ")
        os.kill(ranks.pid(2), signal.SIGCONT)
        self.awaited(lambda job: self.comm_of(job)["missing_ranks"] == [], self.job)

    def test_ranks_of_a_communicator_without_a_rank_of_the_process_that_asks(self):
        """Ranks 1 and 3 have one of their own: rank 1 is here, and rank 3 is silent."""
        ranks = self.start([0, 0, 1, 1], "split", "2")
        self.stuck(name="half")
        comms = [comm for comm in self.job()["communicators"] if comm["name"] == "half"]
        self.assertEqual(sorted(rank["pid"] for comm in comms for rank in comm["ranks"]),
                         [ranks.pid(rank) for rank in range(4)])
        os.kill(ranks.pid(3), signal.SIGSTOP)
        text = self.awaited(lambda text: "did not answer" in text, self.output)
        self.assertRegex(text, rf"(?m)^ +1 +process {ranks.pid(3)} on host beta did not answer: ")

    def test_processes_that_are_gone_or_were_told_not_to_answer(self):
        ranks = self.start([0, 1, 2], "sleep", "2", of_ranks={2: {"RONDO_PS": "0"}})
        text = self.awaited(lambda text: "RONDO_PS=0" in text and "waits\n" in text, self.output)
        self.assertIn(f"    rank 2 of 'world': process {ranks.pid(2)} on host gamma does not answer rondo-ps "
                      "(RONDO_PS=0)", text)
        self.assertEqual(self.job()["processes"][2]["problem"], "does not answer rondo-ps")

    def test_a_job_whose_processes_have_ended_on_another_host(self):
        ranks = self.start([0, 1], "sleep", "0")
        os.kill(ranks.pid(1), signal.SIGKILL)
        # Rank 0 sleeps in no call, so it goes on.
        text = self.awaited(lambda text: "died" in text, self.output)
        self.assertRegex(text, rf"rank 1 of 'world': process {ranks.pid(1)} on host beta: rank 1 \(.*\) died")

    def test_two_jobs_on_the_same_hosts(self):
        self.start([0, 1], "sleep", "1")
        self.start([1, 0], "loop", "1", MASTER_PORT="29700", MASTER_ADDR="10.77.0.2", RONDO_SECRET="another")
        jobs = self.awaited(lambda jobs: len(jobs) == 2 and all(comm["stuck"] for job in jobs
                                                                 for comm in job["communicators"]),
                            lambda: json.loads(self.output("--json"))["jobs"])
        for job in jobs:
            self.assertEqual(sorted(process["host"] for process in job["processes"]), ["alpha", "beta"])
            self.assertEqual([len(comm["ranks"]) for comm in job["communicators"]], [2])

    def test_ranks_that_started_together_many_times(self):
        """As those of PyTorch do, once for each of its groups."""
        self.start([0, 0, 1], "groups", "1")
        jobs = json.loads(self.output("--json"))["jobs"]
        self.assertEqual([(job["not_asked"], len(job["communicators"][0]["ranks"])) for job in jobs], [(None, 3)] * 12)

    def test_watching(self):
        self.start([0, 1], "run", "9")
        watch = subprocess.Popen(on_host(self.hosts, 0, sys.executable, PS, "--watch", "0.3", "--json"), text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        lines = [json.loads(watch.stdout.readline()) for _ in range(4)]
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=LIMIT_S)
        self.assertEqual((watch.returncode, err), (0, ""))
        for line in lines:
            comm = self.comm_of(line["jobs"][0])
            self.assertEqual([rank["host"] for rank in comm["ranks"]], ["alpha", "beta"])
            self.assertGreater(min(rank["calls_per_s"] for rank in comm["ranks"]), 0)

    # --- strangers ---

    def ports_of(self, pid):
        """Those at which a process listens."""
        inodes = set()
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}").removeprefix("socket:[").removesuffix("]"))
        ports = set()
        for name in ("tcp", "tcp6"):
            with open(f"/proc/{pid}/net/{name}", encoding="ascii") as file:
                for words in map(str.split, list(file)[1:]):
                    if words[3] == "0A" and words[9] in inodes:
                        ports.add(int(words[1].rpartition(":")[2], 16))
        return ports

    def test_strangers_on_the_network_get_nothing_and_disturb_nothing(self):
        ranks = self.start([0, 1], "run", "9")
        ports = self.ports_of(ranks.pid(1))
        self.assertTrue(ports)
        hello = b"RNDO" + (20).to_bytes(4, "little") + bytes(24)  # a session that there is not
        script = ("import socket, sys\nkept = []\n"
                  "for port in map(int, sys.argv[1:]):\n"
                  f" for at, said in enumerate([b'GET / HTTP/1.1\\r\\n' * 2, b'\\0' * 300, {hello!r}, b''] * 100):\n"
                  "  one = socket.create_connection(('10.77.0.2', port), timeout=30)\n"
                  "  one.settimeout(30)\n"
                  "  try:\n"
                  "   one.sendall(said)\n"
                  "   print(len(one.recv(4096)) if said and at < 4 else 0)\n"
                  "  except ConnectionError:\n"
                  "   print(0)\n"
                  "  kept.append(one)\n"
                  "sys.stdin.read()\n")
        with subprocess.Popen(on_host(self.hosts, 2, sys.executable, "-c", script, *map(str, ports)), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as siege:
            said = [int(siege.stdout.readline()) for _ in range(400 * len(ports))]
            self.assertLessEqual(max(said), 64)  # that it does not know such a session
            comm = self.comm_of(self.job())
            self.assertEqual(len(comm["ranks"]), 2)
            self.assertGreater(min(rank["calls_per_s"] for rank in comm["ranks"]), 0)
            siege.stdin.close()
            siege.wait(LIMIT_S)

    @unittest.skipUnless(shutil.which("setpriv"), "needs setpriv")
    def test_another_user_cannot_have_other_hosts_asked(self):
        self.start([0, 1], "sleep", "1")
        session = self.stuck()["id"]
        script = ("import re, socket, sys\n"
                  "for name in re.findall(r'@(rondo-ps-\\d+-\\d+-\\w+)\\n', open('/proc/net/unix').read()):\n"
                  " one = socket.socket(socket.AF_UNIX)\n"
                  f" one.bind(chr(0) + 'rondo-ps-asks-{session}-1')\n"
                  " one.connect(chr(0) + name)\n"
                  " one.settimeout(30)\n"
                  " print(len(one.recv(100)))\n")
        for user, wanted in ((0, "100\n"), (65534, "0\n")):
            run = subprocess.run(on_host(self.hosts, 0, "setpriv", f"--reuid={user}", "--clear-groups", sys.executable,
                                         "-c", script), capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual((run.returncode, run.stdout), (0, wanted), run.stderr)

    def test_processes_that_lie_about_other_hosts(self):
        def line(**more):
            return json.dumps({"ranks": [1], "host": "x\x1b[2J", "address": None, "host_id": "2", "pid": 7,
                               "process": "3", "found": "silent", "problem": "so\x1b", "bytes": 0, **more}) + "\n"

        def head(**more):
            return json.dumps({"format": "rondo-ps-job", "version": 1, "session": SESSION, "processes": 1,
                               **more}) + "\n"

        other = flight_text("2" * 16, 1, "gamma", [[0, 1]])
        wrong = flight_text(SESSION, 1, "gamma", [[0, 1]]).replace("all_reduce", "\\u001b")
        unasked = "  other hosts were not asked: process \\d+, which was to ask them: "
        for said, wanted in (
                ("", unasked + "does not answer"), ("nonsense\n", unasked + "line 1, column 1: this is not JSON"),
                (head(session="2" * 16) + line(), unasked + "it is about session \"2222222222222222\""),
                (head(processes=2) + line(), unasked + "line 1, column 1: the file is cut off here"),
                (head(format="rondo-flight") + line(), unasked + r"the answer.format is \"rondo-flight\""),
                (head() + line(found="lost"), unasked + r"processes\[0\].found is \"lost\""),
                (head() + line(ranks=["a"]), unasked + r"processes\[0\].ranks is \[\"a\"\]"),
                (head() + line(bytes=-1, found="answered"), unasked + r"processes\[0\].bytes is -1"),
                (head() + line(ranks=[5, 1]),
                 r"rank 1 of 'dp': process 7 on host x\\u001b\[2J did not answer: so\\u001b\n"),
                (head() + line(found="answered", bytes=10**9), "process 7 on host x.* says what is not right: line 1"),
                (head() + line(found="answered", bytes=len(other)) + other, "process 7 on host x.* has destroyed its"),
                (head() + line(found="answered", bytes=len(wrong)) + wrong, r"in \\u001b 5")):
            with Liar(self.hosts, said):
                text = self.output()
            self.assertRegex(text, wanted)
            self.assertNotIn("\x1b", text)


def flight_text(session, rank, host, here):
    """What a process says that has waited for 100 s in a call."""
    own = comm(rank, 2, id=f"{session}-1", here=here, session_ranks=[[0, 1, 2]])
    return process(own, host=host, pid=7, rank=rank, cpu_ns=0).decode()


class Liar:
    """A process of host 0 that answers as one of a job, and with this text when it is to ask other hosts."""
    SCRIPT = """
import os, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(f"\\0rondo-ps-{os.geteuid()}-{os.getpid()}-{1:016x}")
listener.listen()
print("ready", flush=True)
while True:
    client, name = listener.accept()
    with client:
        client.sendall(os.fsencode(sys.argv[2 if name and name.startswith(b"\\0rondo-ps-asks-") else 1]))
"""

    def __init__(self, hosts, said):
        own = flight_text(SESSION, 0, "alpha", [[0, 1]])
        self.process = subprocess.Popen(on_host(hosts, 0, sys.executable, "-c", self.SCRIPT, own, said), text=True,
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.readline() == "ready\n"

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(LIMIT_S)
        self.process.stdout.close()


if __name__ == "__main__":
    main()
