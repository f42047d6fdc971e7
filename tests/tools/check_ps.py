# SPDX-License-Identifier: Apache-2.0
"""check_ps.py RONDO-PS RONDO-RUN PS-JOB PYTHON-PACKAGE: what rondo-ps says of jobs that run, wait,
are stopped and have ended, to their user and to another, and what clients of all kinds cannot do to them."""
import contextlib
import json
import os
import pty
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PS, RUN, JOB, PACKAGE = (os.path.abspath(path) for path in sys.argv[1:5])
LIMIT_S = 60
OTHER_UID = 65534
ENVIRONMENT = {name: value for name, value in os.environ.items() if name not in ("RONDO_PS", "RANK", "WORLD_SIZE")}
RANK = {"rank": int, "host": str, "pid": int, "latest": int, "activity": str, "place": str, "ended": bool, "state": str,
        "transports": str, "calls": int, "bytes": int, "calls_per_s": (float, type(None)), "in_call": bool,
        "bytes_per_s": (float, type(None)), "for_s": (float, type(None)), "waits_for": (int, type(None)),
        "messages": (str, type(None)), "latest_call": (dict, type(None))}
COMM = {"name": str, "id": str, "size": int, "latest": int, "story": list, "late_ranks": list, "missing_ranks": list,
        "waiting_ranks": list, "failure": (dict, type(None)), "mismatch": (dict, type(None)), "ranks": list,
        "stuck": bool}
PROCESS = {"pid": int, "command": str, "state": str, "cpu": (float, type(None)), "problem": (str, type(None))}

PYTHON_JOB = """
import sys, time
import rondo
with rondo.init() as comm:
    comm.barrier()
    print("ready", flush=True)
    if comm.rank == 1:
        time.sleep(1000)
    comm.all_reduce(bytearray(8))
"""


def names():
    with open("/proc/net/unix", encoding="utf-8") as file:
        return re.findall(rf" @(rondo-ps-{os.geteuid()}-\d+-[0-9a-f]+)$", file.read(), re.M)


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


def session_of(pid):
    """The process that a job was started as; None: it has ended."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def kill_session(pid):
    for one in os.listdir("/proc"):
        if one.isdigit() and session_of(int(one)) == pid:
            os.kill(int(one), signal.SIGKILL)


def comm(rank, size, waits=True, **more):
    """What a process says of a communicator, in a call for 100 s."""
    call = {"number": 5, "call": "all_reduce", "count": 10, "bytes": 40, "type": "float32", "op": "sum", "root": None,
            "on_gpu": False, "algorithm": "ring", "plan": "0", "began_ns": 10**9, "ended_ns": None if waits else 10**9,
            "state": "running" if waits else "done"}
    return {"name": "dp", "id": "1-1", "rank": rank, "size": size, "session_rank": rank, "transports": "", "latest": 5,
            "activity": "in a call" if waits else "in no call", "waits_for": None, "messages": None, "ended": False,
            "failure": None, "total_calls": 5, "total_bytes": 200, "here": [], "calls": [call], **more}


def process(*comms, **more):
    return json.dumps({"format": "rondo-flight", "version": 1, "host": "a", "pid": os.getpid(), "rank": 0,
                       "reason": "request", "written_ns": 101 * 10**9, "omitted": 0, "communicators": comms,
                       **more}).encode()


class Pretender:
    """This process as one that uses Rondo, which says `text`; None: it keeps clients waiting."""
    made = 0

    def __init__(self, text):
        self.text = text
        Pretender.made += 1
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"\0rondo-ps-{os.geteuid()}-{os.getpid()}-{self.made:016x}")
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
        while not self.is_over.is_set():
            try:
                with self.listener.accept()[0] as client:
                    client.settimeout(LIMIT_S)
                    if self.text is None:
                        self.is_over.wait(2)
                    else:
                        client.sendall(self.text)
            except OSError:
                pass  # none has come, or it has had enough


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


class Ps(unittest.TestCase):
    def setUp(self):
        self.jobs = Jobs(self)

    def output(self, *options, code=0, **more):
        run = subprocess.run([sys.executable, PS, *options], capture_output=True, text=True, timeout=LIMIT_S,
                             check=False, env=ENVIRONMENT, **more)
        self.assertEqual((run.returncode, run.stderr), (code, ""), run.stdout)
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

    def awaited(self, what, get):
        """Looks until `what` holds of what `get` returns."""
        until = time.monotonic() + LIMIT_S
        while True:
            got = get()
            if what(got):
                return got
            self.assertLess(time.monotonic(), until, got)

    def comm_of(self, job, name="world"):
        """What is said of the only communicator with a name, of a job that was started here."""
        found = [comm for one in self.data()["jobs"] for comm in one["communicators"] if comm["name"] == name and
                 {session_of(process["pid"]) for process in one["processes"]} == {job.pid}]
        self.assertEqual(len(found), 1)
        return found[0]

    def stuck(self, job, name="world"):
        return self.awaited(lambda comm: comm["stuck"], lambda: self.comm_of(job, name))

    def test_a_rank_in_an_endless_loop(self):
        job = self.jobs.start(JOB, "loop", "3", ranks=4)
        comm = self.stuck(job)
        self.assertEqual((comm["size"], comm["latest"], comm["late_ranks"], comm["missing_ranks"]), (4, 1001, [3], []))
        self.assertEqual(len(comm["story"]), 1)
        self.assertRegex(comm["story"][0],
                         r"^rank 3 never came to all_reduce 1,001 of 'world': last in all_reduce 1,000, "
                         r"which ended \d+\.\d s before; its process \d+ runs \(\d+% of a CPU\)$")
        for rank in comm["ranks"]:
            late = rank["rank"] == 3
            self.assertEqual((rank["in_call"], rank["calls"]), (not late, 1000 if late else 1001))
            self.assertEqual(rank["bytes"], 800 * rank["calls"])
            self.assertEqual((rank["calls_per_s"], rank["bytes_per_s"]), (0, 0))
            self.assertEqual(rank["latest_call"]["bytes"], 800)
        self.awaited(lambda comm: [rank["waits_for"] for rank in comm["ranks"]] == [3, 3, 3, None],
                     lambda: self.comm_of(job))
        text = self.output()
        self.assertRegex(text, r"(?m)^job [0-9a-f]{16}, 4 processes: \S+ps_job loop 3$")
        self.assertIn("\n  communicator 'world', 4 ranks, at all_reduce 1,001: waits\n", text)
        self.assertRegex(text, r"(?m)^ +0 +\d+ +1,001 +782 KiB +0 +0 B  in all_reduce 1,001"
                               r"\(count=100, float64, sum\), 800 B by \w+ for \d+\.\d s, waits for rank 3; ")

    def test_a_rank_that_is_stopped_does_not_delay_the_answer(self):
        job = self.jobs.start(JOB, "sleep", "3", ranks=4)
        stuck = self.stuck(job)
        pid = next(rank["pid"] for rank in stuck["ranks"] if rank["rank"] == 3)
        os.kill(pid, signal.SIGSTOP)
        comm = self.awaited(lambda comm: comm["missing_ranks"] == [3], lambda: self.comm_of(job))
        said = f"rank 3 of 'world': process {pid} does not answer: it is stopped"
        self.assertIn(said, comm["story"][0])
        self.awaited(lambda text: said + "; ranks 0 to 2 wait for it\n" in text, self.output)
        self.assertEqual([(one["pid"], one["state"]) for one in self.data()["silent"]], [(pid, "is stopped")])
        os.kill(pid, signal.SIGCONT)
        self.awaited(lambda comm: comm["missing_ranks"] == [], lambda: self.comm_of(job))

    def test_ranks_that_run_have_rates(self):
        job = self.jobs.start(JOB, "run", "9", ranks=2)
        comm = self.comm_of(job)
        for rank in comm["ranks"]:
            self.assertGreater(rank["calls_per_s"], 0)
            self.assertAlmostEqual(rank["bytes_per_s"], 800 * rank["calls_per_s"], delta=1)

    def test_jobs_are_told_apart_and_communicators_that_were_split(self):
        first = self.jobs.start(JOB, "split", "0", ranks=4)
        second = self.jobs.start(JOB, "sleep", "1", ranks=2)
        for job, pids in ((first, 4), (second, 2)):
            self.assertEqual(self.comm_of(job)["size"], pids)
        jobs = self.data()["jobs"]
        self.assertEqual(len({one["id"] for one in jobs}), 2)
        self.assertEqual(sorted(len(one["processes"]) for one in jobs), [2, 4])
        halves = self.awaited(lambda comms: any(comm["stuck"] for comm in comms), lambda: [
            comm for one in self.data()["jobs"] for comm in one["communicators"] if comm["name"] == "half"])
        self.assertEqual(sorted((comm["size"], comm["late_ranks"]) for comm in halves if comm["stuck"]), [(2, [0])])
        self.assertEqual(len(halves), 2)

    def test_threads_of_a_process(self):
        job = self.jobs.start(JOB, "threads", "1")
        comm = self.stuck(job)
        self.assertEqual((comm["size"], comm["late_ranks"], comm["waiting_ranks"]), (3, [1], [0, 2]))
        self.assertEqual({rank["pid"] for rank in comm["ranks"]}, {job.pid})
        self.assertRegex(self.output(), r"(?m)^job [0-9a-f]{16}, 1 process: ")

    def test_a_program_in_python(self):
        # The interpreter may lack the sanitizer's runtime.
        if subprocess.run([sys.executable, "-c", "import rondo; rondo.init_all(1)"], capture_output=True,
                          env={**ENVIRONMENT, "PYTHONPATH": PACKAGE}, timeout=LIMIT_S).returncode:
            self.skipTest("the Python package does not run here")
        job = self.jobs.start(sys.executable, "-c", PYTHON_JOB, ranks=2, PYTHONPATH=PACKAGE)
        comm = self.stuck(job)
        self.assertEqual(comm["late_ranks"], [1])
        self.assertRegex(comm["story"][0], r"its process \d+ sleeps")

    def test_a_killed_job_leaves_nothing(self):
        job = self.jobs.start(JOB, "sleep", "0", ranks=2)
        self.assertEqual(len(names()), 2)
        kill_session(job.pid)
        job.wait(LIMIT_S)
        self.awaited(lambda left: not left, names)
        self.assertEqual(self.output(), "no process of this user uses Rondo on this host\n")
        data = self.data()
        self.assertEqual((data["jobs"], data["silent"]), ([], []))

    def test_a_rank_that_has_died_is_said_to_have_ended(self):
        job = self.jobs.start(JOB, "sleep", "1", ranks=2)
        pid = next(rank["pid"] for rank in self.stuck(job)["ranks"] if rank["rank"] == 0)
        os.kill(pid, signal.SIGSTOP)
        text = self.awaited(lambda text: "does not answer" in text, self.output)
        self.assertIn(f"process {pid} does not answer: it is stopped", text)

    def test_the_switch(self):
        self.jobs.start(JOB, "sleep", "1", ranks=2, RONDO_PS="0")
        self.assertEqual(names(), [])
        self.assertEqual(self.output(), "no process of this user uses Rondo on this host\n")
        run = subprocess.run([JOB, "threads", "1"], env={**ENVIRONMENT, "RONDO_PS": "maybe"}, capture_output=True,
                             text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("RONDO_PS is 'maybe': it must be 1, yes, true or on, or else 0, no, false or off", run.stdout)

    def test_odd_names_reach_no_terminal(self):
        name = "a\x1b]0;b\x07\n\u202e"
        job = self.jobs.start(JOB, "split", "0", name + "\x1b[31m", ranks=2)
        text = self.awaited(lambda text: "communicator 'a" in text, self.output)
        self.assertIn("'a\\u001b]0;b\\u0007\\u000a\\u202e\\u001b[31m'", text)
        for one in ("\x1b", "\x07", "\u202e"):
            self.assertNotIn(one, text)
        comm = [comm for one in self.data()["jobs"] for comm in one["communicators"] if comm["name"][0] == "a"][0]
        self.assertEqual(comm["name"], name + "\x1b[31m")
        del job

    def test_watching_where_output_is_no_terminal(self):
        self.jobs.start(JOB, "sleep", "1", ranks=2)
        for options, separator in ((["--watch", "0.3"], r"(?m)^job "), (["--watch=0.3", "--json"], r'(?m)^\{"format"')):
            watch = subprocess.Popen([sys.executable, PS, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     text=True, env=ENVIRONMENT)
            time.sleep(3)
            watch.send_signal(signal.SIGINT)
            out, err = watch.communicate(timeout=LIMIT_S)
            self.assertEqual((watch.returncode, err), (0, ""))
            self.assertGreater(len(re.findall(separator, out)), 2)
            self.assertNotIn("\x1b", out)
            if "--json" in options:
                for line in out.splitlines():
                    self.assertEqual(json.loads(line)["format"], "rondo-ps")

    def test_watching_on_a_terminal(self):
        self.jobs.start(JOB, "sleep", "1", ranks=2)
        ours, theirs = pty.openpty()
        watch = subprocess.Popen([sys.executable, PS, "--watch", "0.2"], stdout=theirs, stderr=theirs,
                                 env={**ENVIRONMENT, "LINES": "4", "COLUMNS": "60"})
        os.close(theirs)
        out, until = b"", time.monotonic() + LIMIT_S
        while out.count(b"\x1b[H") < 4 and time.monotonic() < until:
            if select.select([ours], [], [], 1)[0]:
                out += os.read(ours, 65536)
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(LIMIT_S), 0)
        os.close(ours)
        screens = out.split(b"\x1b[H")[1:4]
        for screen in screens:
            self.assertEqual(screen.count(b"\n"), 3, screen)  # one line less than the terminal has
            self.assertRegex(screen, rb"\d+ more lines\x1b\[K\r\n\x1b\[J\x1b\[\?7h")

    def test_wrong_usage(self):
        for options in (["--watch", "0"], ["--watch", "often"], ["--yaml"], ["7"]):
            run = subprocess.run([sys.executable, PS, *options], capture_output=True, text=True, timeout=LIMIT_S,
                                 check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn("usage: rondo-ps", run.stderr)

    # --- strangers ---

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
            run = subprocess.run(["unshare", *options, sys.executable, PS], capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (0, wanted, ""))

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
            with Pretender(text):
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
        with Pretender(process(comm(0, 7, waits_for=1, here=here), omitted=5)):
            text = self.output()
        self.assertIn(f"    rank 1 of 'dp': process {1 << 30} has ended; rank 0 waits for it\n", text)
        self.assertRegex(text, rf"    rank 2 of 'dp': process {sleeper.pid} has no socket for rondo-ps: it sleeps")
        self.assertIn(f"    rank 3 of 'dp': process {os.getpid()} says nothing of 5 of its communicators\n", text)
        self.assertIn("    ranks 4 to 6 of 'dp': on other hosts\n", text)
        self.assertRegex(text, r"(?m)^ +4 to 6  +on other hosts$")
        contradiction = process(comm(0, 2, here=[]), comm(0, 2, here=[]))
        with Pretender(contradiction):
            self.assertIn(f"process {os.getpid()} contradicts others: rank 0 of communicator 'dp' is also in",
                          self.output())

    def test_more_processes_than_descriptors(self):
        pretenders = [Pretender(process(comm(0, 2, id=f"{at}-1"))) for at in range(40)]
        with contextlib.ExitStack() as all_of_them:
            for one in pretenders:
                all_of_them.enter_context(one)
            limit = ["sh", "-c", "ulimit -n 20; exec \"$@\"", "sh"]
            run = subprocess.run([*limit, sys.executable, PS, "--json"], capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        # All of them are this process.
        self.assertEqual(len(json.loads(run.stdout)["jobs"]), 1)

    def test_output_that_cannot_be_written(self):
        with Pretender(process(comm(0, 2, name="\u65e5"))):
            for options in ([], ["--json"], ["--watch"]):
                with open("/dev/full", "w", encoding="utf-8") as full:
                    run = subprocess.run([sys.executable, PS, *options], stdout=full, stderr=subprocess.PIPE, text=True,
                                         timeout=LIMIT_S, check=False)
                self.assertEqual((run.returncode, run.stderr),
                                 (1, "rondo-ps: cannot write standard output: No space left on device\n"))
            run = subprocess.run([sys.executable, PS], capture_output=True, text=True, timeout=LIMIT_S, check=False,
                                 env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"})
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("communicator '\\u65e5', 2 ranks", run.stdout)

    def test_many_communicators(self):
        comms = [comm(0, 1, id=f"1-{at:x}", name=f"c{at}", waits=at == 40) for at in range(64)]
        with Pretender(process(*comms, omitted=936)):
            text, data = self.output(), self.data()
        self.assertEqual(re.findall("communicator '(.*?)'", text)[0], "c40")
        self.assertEqual(text.count("communicator '"), 16)
        self.assertIn("\n  48 more communicators; --json shows them\n", text)
        self.assertIn("\n  at least 936 more communicators, of which the processes say nothing", text)
        self.assertEqual(len(data["jobs"][0]["communicators"]), 64)
        self.assertEqual(data["jobs"][0]["omitted"], 936)

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


def alone():
    """Other programs of this user may be ranks: in a network namespace of its own, this test does not see them."""
    apart = ["unshare", "--net", sys.executable, *sys.argv, "apart"]
    if sys.argv[-1] != "apart" and os.geteuid() == 0 and shutil.which("unshare") and \
            subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp(apart[0], apart)


if __name__ == "__main__":
    alone()
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed" + (f", {skipped} skipped" if skipped else ""),
          flush=True)
    sys.exit(1 if wrong else 0)
