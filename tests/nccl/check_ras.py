# SPDX-License-Identifier: Apache-2.0
"""check_ras.py RAS-JOB: what a job on libnccl.so.2 answers to NCCL's client ncclras, whose protocol this test
speaks: of jobs that run, hang, are stopped, end and have ended; and what clients of all kinds cannot do to it."""
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

JOB = os.path.abspath(sys.argv[1])
LIMIT_S = 60
MARK = b"rdo-ras1"  # with which processes begin what they say
OTHER_UID, NOBODY_UID = 12345, 65534
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("NCCL_RAS_")}
SECTIONS = ["Job summary", "Errors", "Warnings", "Notes"]
NO_MONITOR = "ERROR: Rondo has no MONITOR: ask for STATUS again, or run rondo-ps --watch"
REFUSAL = "ERROR: only the user of this process is answered: run ncclras as that user\n"
COLLECTIVES = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AlltoAll", "Gather", "Scatter"}


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def names():
    """At which processes of this user ask one another."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return set(re.findall(rf" @(rondo-ras-{os.geteuid()}-\d+-[0-9a-f]+)$", file.read(), re.M))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Client:
    """As ncclras: connects, shakes hands, may set a timeout and a format, and asks."""

    def __init__(self, port, handshake=True, host="127.0.0.1", receive_bytes=None):
        until = time.monotonic() + LIMIT_S
        while True:
            self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
            self.socket.settimeout(LIMIT_S)
            if receive_bytes is not None:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            self.socket.connect((host, port))
            self.rest = b""
            if not handshake:
                return
            self.socket.settimeout(1)  # a stopped process may have the connection: ncclras tries again
            try:
                answer = self.ask("CLIENT PROTOCOL 2")
                break
            except OSError as error:
                self.socket.close()
                if not isinstance(error, TimeoutError) or time.monotonic() > until:
                    raise
        if answer != "SERVER PROTOCOL 2":
            self.socket.close()
            raise PermissionError(answer)
        self.socket.settimeout(LIMIT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, text):
        self.socket.sendall(text if isinstance(text, bytes) else text.encode())

    def line(self):
        while b"\n" not in self.rest:
            chunk = self.socket.recv(4096)
            if not chunk:
                raise ConnectionError("it has hung up")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def ask(self, text):
        self.send(text + "\n")
        return self.line()

    def all(self):
        chunks = [self.rest]
        while chunk := self.socket.recv(65536):
            chunks.append(chunk)
        return b"".join(chunks).decode()

    def hangs_up(self):
        try:
            return not self.all()
        except ConnectionError:
            return True


class Job:
    """The processes of a job, of which `text()` and `data()` are told."""
    made = 0

    def __init__(self, test, what, late=1, size=4, prefix=(), **environment):
        Job.made += 1
        self.size = size
        self.port = free_port()
        self.name = f"ras-{os.getpid()}-{Job.made}"
        self.folder = tempfile.mkdtemp()
        os.chmod(self.folder, 0o777)
        test.addCleanup(shutil.rmtree, self.folder)
        environment = {**ENVIRONMENT, "NCCL_RAS_ADDR": f"localhost:{self.port}", **environment}
        self.ranks = [subprocess.Popen(
            [*prefix, JOB, str(rank), str(size), f"{self.folder}/id", self.name, what, str(late)], env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for rank in range(size)]
        test.addCleanup(self.end)
        for rank in self.ranks:
            line = rank.stdout.readline()
            test.assertEqual(line, "ready\n", rank.stderr.read() if not line else line)

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.wait(LIMIT_S)
            rank.stdout.close()
            rank.stderr.close()

    def pids(self):
        return [rank.pid for rank in self.ranks]

    def text(self, command="VERBOSE STATUS", **options):
        with Client(self.port, **options) as client:
            client.send(command + "\n")
            return client.all()

    def data(self):
        with Client(self.port) as client:
            assert client.ask("SET FORMAT json") == "OK"
            client.send("STATUS\n")
            return json.loads(client.all())

    def comm(self, name=None):
        return next(comm for comm in self.data()["communicators"] if comm["name"] == (name or self.name))

    def part(self, kind, text):
        """Of the lines about the communicator that have `kind`, such as MISMATCH."""
        found = re.search(rf"(?ms)^#\d+-\d+ '{self.name}' \([0-9a-f]+-[0-9a-f]+\) {kind}\n(.*?)\n\n", text)
        return found[1] if found else None


def text_bytes(text):
    return struct.pack("<I", len(text)) + text


def process(count, name=b"pretended"):
    """What a process says that has `count` communicators, with two ranks each."""
    nothing = text_bytes(b"")
    ranks = [struct.pack("<QQiiiii", 7, at, 0, 0, 2, 1, -1) + text_bytes(name) + struct.pack("<Ii", 0, 0) + nothing +
             struct.pack("<BBBI", 0, 0, 0, 0) + nothing + struct.pack("<Qqqi", 0, -1, -1, -1) + nothing + bytes(8 * 11)
             for at in range(count)]
    return MARK + text_bytes(b"host") + struct.pack("<iII", os.getpid(), 0, count) + b"".join(ranks)


class Pretender:
    """A process of this user that says `text` when it is asked; None: it keeps others waiting."""

    def __init__(self, text):
        self.text = text
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"\0rondo-ras-{os.geteuid()}-{os.getpid()}-{'0' * 16}")
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
        kept = []
        while not self.is_over.is_set():
            try:
                one = self.listener.accept()[0]
            except TimeoutError:
                continue
            if self.text is None:
                kept.append(one)
                continue
            with one, contextlib.suppress(OSError):
                one.settimeout(LIMIT_S)
                one.sendall(self.text)
        for one in kept:
            one.close()


class Answers(unittest.TestCase):
    def awaited(self, condition, look):
        """What `look` finds once it satisfies `condition`. A process that ends breaks off what it answers."""
        until, found = time.monotonic() + LIMIT_S, None
        while time.monotonic() < until:
            with contextlib.suppress(ConnectionError):
                if condition(found := look()):
                    return found
            time.sleep(0.05)
        return self.fail(f"in vain: {found}")

    # --- what is answered ---

    def test_a_job_that_runs(self):
        job = Job(self, "run")
        text = job.text()
        places = [text.index(f"\n{title}\n{'=' * len(title)}\n") for title in SECTIONS]
        self.assertEqual(places, sorted(places))
        self.assertRegex(text, r"^Rondo \d+\.\d+\.\d+ as libnccl\.so\.2 \(NCCL 2\.29\.7 ABI\)\n")
        self.assertRegex(text, r"\n +1 +4 +1 +4 +4\n")  # nodes, processes a node, ranks a process, and all
        self.assertRegex(text, r"\nCommunicators\.\.\. \(\d+\.\d\ds\)\n=============\n")
        self.assertRegex(text, r"\n +0 +1 +1 +4 +4 +4 +RUNNING  (OK|MISMATCH)\n")
        self.assertIn("\nErrors\n======\n\nnone\n", text)
        before, after = job.comm(), self.awaited(lambda comm: comm["ranks"][0]["latest_call"] > 1000, job.comm)
        self.assertEqual((before["size"], before["state"], after["missing_ranks_count"]), (4, "RUNNING", 0))

    def test_a_rank_in_an_endless_loop_lags(self):
        job = Job(self, "loop", late=2)
        part = self.awaited(lambda part: part and "ask again" not in part, lambda: job.part("MISMATCH", job.text()))
        self.assertIn("  3 ranks have begun 101 calls, the latest: ranks 0, 1, 3\n", part)
        self.assertRegex(part, r"The first of them is in all_reduce\(count=10, float32, sum\), call 101 for \d+\.\d s")
        self.assertIn("  1 rank has begun 100 calls, 1 call behind: rank 2\n", part)
        self.assertRegex(part, rf"    Rank 2 -- no GPU, process {job.pids()[2]} on node \S+: is done with "
                               r"all_reduce\(.*\), call 100 for \d+\.\d s$")
        self.assertNotIn("\nRanks\n", job.text("STATUS"))
        comm = job.comm()
        self.assertEqual([rank["latest_call"] for rank in comm["ranks"]], [101, 101, 100, 101])
        self.assertEqual((comm["errors"], comm["ranks"][0]["status"]["async_error"]), ("MISMATCH", 0))

    def test_a_line_for_each_rank(self):
        job = Job(self, "sleep", size=2)
        text = job.text()
        ranks = text.partition("\nRanks\n=====\n")[2]
        for rank, pid in enumerate(job.pids()):
            self.assertRegex(ranks, rf"(?m)^  Rank {rank} -- no GPU, process {pid} on node \S+: "
                                    r"is (in|done with) all_reduce")

    def test_json(self):
        job = Job(self, "sleep", size=2)
        data = self.awaited(lambda data: data["communicators"][0]["ranks"][0]["latest_call"] == 101, job.data)
        self.assertEqual((data["nccl_version"], data["communicators_count"]), ("2.29.7", 1))
        self.assertEqual(data["ras"]["timeouts_count"], 0)
        self.assertIsNone(data["cuda_driver_version"])
        self.assertRegex(data["timestamp"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        comm = data["communicators"][0]
        self.assertRegex(comm["hash"], "^0x[0-9a-f]{16}$")
        self.assertEqual((comm["size"], comm["ranks_count"], comm["missing_ranks"]), (2, 2, []))
        for number, rank in enumerate(comm["ranks"]):
            self.assertEqual((rank["rank"], rank["pid"], rank["cuda_dev"]), (number, job.pids()[number], -1))
            self.assertEqual(rank["status"], {"init_state": 0, "async_error": 0, "finalize_called": False,
                                              "destroy_flag": False, "abort_flag": False})
            self.assertEqual(set(rank["collective_counts"]), COLLECTIVES)
        self.assertEqual([rank["collective_counts"]["AllReduce"] for rank in comm["ranks"]], [101, 100])

    def test_communicators_of_one_kind_are_a_line(self):
        job = Job(self, "split", late=3)
        mismatch = re.compile(r"\n +\d +1 +1 +2 +2 +2 +RUNNING  MISMATCH\n")
        text = self.awaited(mismatch.search, job.text)
        self.assertRegex(text, r"\n +0 +1 +1 +4 +4 +4 +RUNNING  OK\n")
        self.assertRegex(text, r"\n +\d +1 +1 +2 +2 +2 +RUNNING  OK\n")  # the pair without the late rank
        self.assertEqual(text.count("MISMATCH"), 2)
        self.assertNotIn("jobs.", text)

    def test_a_stopped_process(self):
        job = Job(self, "sleep", late=2)
        os.kill(job.pids()[2], signal.SIGSTOP)
        text = self.awaited(re.compile(r"\n +0 +1 +1 +4 +4 +3 +RUNNING  INCOMPLETE\n").search, job.text)
        self.assertIn(f"INCOMPLETE\n  1 process of this user did not answer\n  Process {job.pids()[2]} is stopped "
                      "(SIGSTOP or job control)\n", text)
        self.assertEqual(job.part("INCOMPLETE", text),
                         f"  Rank 2 -- process {job.pids()[2]} is stopped (SIGSTOP or job control)")
        missing = job.comm()["missing_ranks"]
        self.assertEqual([(one["rank"], one["pid"], one["status"]["unresponsive"]) for one in missing],
                         [(2, job.pids()[2], True)])
        waits = self.awaited(lambda part: part is not None, lambda: job.part("WAITS", job.text()))
        self.assertIn("  ranks 0, 1, 3\n", waits)

    def test_a_killed_process_and_the_others_answer_on(self):
        for rank in range(2):
            job = Job(self, "sleep", late=2)
            job.ranks[rank].kill()
            text = self.awaited(lambda text, job=job: job.part("ERROR", text) and
                                "has ended" in (job.part("INCOMPLETE", text) or ""), job.text)
            self.assertRegex(job.part("ERROR", text), rf"anks? .* failed with RONDO_REMOTE_ERROR: .*rank {rank} ")
            self.assertIn(f"  Rank {rank} -- process {job.pids()[rank]} has ended", job.part("INCOMPLETE", text))
            self.assertEqual(max(one["status"]["async_error"] for one in job.comm()["ranks"]), 6)  # ncclRemoteError

    def test_ranks_that_make_different_calls(self):
        job = Job(self, "other", late=1, size=2)
        text = self.awaited(lambda text: "ERROR" in text and "MISMATCH" in text, job.text)
        self.assertIn("failed with RONDO_MISMATCH", job.part("ERROR", text))
        part = job.part("MISMATCH", text)
        self.assertIn("  Communicator ranks have made different calls as call 101\n", part)
        self.assertIn("  rank 0: all_reduce(count=10, float32, sum), call 101\n", part + "\n")
        self.assertIn("  rank 1: broadcast(count=10, float32, root=0), call 101\n", part + "\n")

    def test_ends_of_all_kinds(self):
        job = Job(self, "finalize", late=1)
        text = self.awaited(re.compile(r"\n +0 +1 +1 +4 +4 +4 +FINALIZE ").search, job.text)
        self.assertIn("  Communicator ranks have different status\n  RUNNING: ranks 0, 2, 3\n  FINALIZE: rank 1",
                      job.part("MISMATCH", text))
        for what in ("destroy", "abort"):
            job = Job(self, what, late=1)
            text = self.awaited(lambda text, job=job: job.part("ERROR", text) and job.part("INCOMPLETE", text),
                                job.text)
            self.assertIn(f"  Rank 1 -- process {job.pids()[1]} has ended, has no communicator any more",
                          job.part("INCOMPLETE", text))
            self.assertEqual(job.comm()["ranks_count"], 3)
        self.assertIn("abort", job.part("ERROR", text))

    def test_two_jobs_of_a_user(self):
        first, second = Job(self, "run", size=2), Job(self, "sleep", size=2)
        for job in (first, second):
            text = self.awaited(lambda text: second.part("MISMATCH", text), job.text)
            self.assertRegex(text, r"These processes are of \d+ jobs\.")

    # --- the protocol ---

    def test_commands(self):
        job = Job(self, "sleep", size=2)
        with Client(job.port, handshake=False) as client:
            for command, answer in (
                    ("client protocol 1", "SERVER PROTOCOL 2"), ("Timeout 3", "OK"), ("TIMEOUT 0", "OK"),
                    ("TIMEOUT 2147483647", "OK"), ("TIMEOUT", "ERROR: unknown command 'TIMEOUT'"),
                    ("TIMEOUT -1", "ERROR: invalid timeout '-1'"), ("TIMEOUT 5s", "ERROR: invalid timeout '5s'"),
                    ("TIMEOUT 99999999999999", "ERROR: invalid timeout '99999999999999'"),
                    ("SET FORMAT yaml", "ERROR: invalid format 'yaml'"), ("set format JSON", "OK"),
                    ("SET FORMAT text", "OK"),
                    ("", "ERROR: unknown command ''"), ("STATUS now", "ERROR: unknown command 'STATUS now'"),
                    ("\x1b[2J\r", "ERROR: unknown command '\\u001b[2J'"),
                    ("x" * 1000, f"ERROR: unknown command '{'x' * 100}'"),
                    ("MONITOR", NO_MONITOR), ("monitor lifecycle", NO_MONITOR)):
                self.assertEqual(client.ask(command), answer)
            client.send("verbose status\r\n")
            self.assertIn(job.name, client.all())

    def test_commands_in_pieces_and_at_once(self):
        job = Job(self, "sleep", size=2)
        with Client(job.port, handshake=False) as client:
            for letter in "verbose status\n":
                client.send(letter)
                time.sleep(0.01)
            self.assertIn("\nRanks\n", client.all())
        with Client(job.port, handshake=False) as client:
            client.send("CLIENT PROTOCOL 2\nSET FORMAT json\nSTATUS\n" + "what follows is not read\n" * 100)
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.all().startswith("SERVER PROTOCOL 2\nOK\n{"))

    def test_clients_that_do_not_keep_to_the_limits_are_cut_off(self):
        job = Job(self, "sleep", size=2)
        for nonsense in (b"x" * 5000, b"x" * 1024, os.urandom(4096).replace(b"\n", b"x"), b"\n" * 40, b"\0" * 2000):
            with Client(job.port, handshake=False) as client:
                client.send(nonsense)
                if nonsense[:1] == b"\n":
                    client.send("")
                else:
                    self.assertTrue(client.hangs_up())
                    continue
                with contextlib.suppress(ConnectionError):
                    self.assertLessEqual(client.all().count("ERROR"), 32)
        with Client(job.port, handshake=False) as client:
            client.send("STATU")
            client.socket.shutdown(socket.SHUT_WR)
            self.assertTrue(client.hangs_up())
        self.assertIn(job.name, job.text())

    def test_both_loopback_addresses(self):
        job = Job(self, "sleep", size=2)
        try:
            text = job.text(host="::1")
        except OSError as error:
            self.skipTest(f"::1: {error}")
        self.assertIn(job.name, text)

    # --- strangers, and what may go wrong ---

    def test_too_many_clients(self):
        job = Job(self, "run", size=2)
        before = [descriptors(pid) for pid in job.pids()]
        calls = job.comm()["ranks"][0]["latest_call"]
        kept = []
        for at in range(300):
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                one.connect(("127.0.0.1", job.port))
            if at % 3 == 0:
                with contextlib.suppress(OSError):
                    one.send(b"CLIENT PROTOCOL 2\n")
            kept.append(one)
        self.awaited(lambda text: job.name in text, job.text)  # it may be the oldest of the clients for a while
        for pid, count in zip(job.pids(), before):
            self.assertLess(descriptors(pid), count + 30)
        for one in kept:
            one.close()
        self.awaited(lambda counts: counts == before, lambda: [descriptors(pid) for pid in job.pids()])
        self.assertGreater(job.comm()["ranks"][0]["latest_call"], calls)

    def test_clients_that_never_read(self):
        job = Job(self, "run", size=2)
        before = sum(descriptors(pid) for pid in job.pids())
        with Pretender(process(1000, b"n" * 4000)):
            size = len(job.text())
            self.assertGreater(size, 4_000_000)
            began = time.monotonic()
            kept = [Client(job.port, receive_bytes=1) for _ in range(4)]
            for client in kept:
                client.send("VERBOSE STATUS\n")
            self.awaited(lambda count: count > before, lambda: sum(descriptors(pid) for pid in job.pids()))
            time.sleep(1)
            self.assertIn(job.name, job.text())
            held = sum(descriptors(pid) for pid in job.pids())
            if time.monotonic() - began < 4:  # they are dropped after 5 s, which a busy machine may take for this
                self.assertGreaterEqual(held, before + len(kept))
            self.awaited(lambda count: count == before, lambda: sum(descriptors(pid) for pid in job.pids()))
        for client in kept:
            with client, contextlib.suppress(ConnectionError):
                self.assertLess(len(client.all()), size)

    def test_processes_of_this_user_that_lie_or_say_nothing(self):
        job = Job(self, "sleep", size=2)
        unknown, long = "what this version of Rondo does not understand", "too much"
        for said, words in ((b"nonsense", unknown), (MARK, unknown), (MARK + b"\xff" * 100, unknown),
                            (process(1)[:-1], unknown), (b"x" * (5 << 20), long)):
            with Pretender(said):
                text = job.text()
            self.assertIn(f"\n  Process {os.getpid()} says {words}\n", text)
            self.assertIn(job.name, text)
        with Pretender(None), Client(job.port) as client:
            self.assertEqual(client.ask("TIMEOUT 1"), "OK")
            began = time.monotonic()
            client.send("VERBOSE STATUS\n")
            text = client.all()
        self.assertGreater(time.monotonic() - began, 0.9)
        self.assertIn(f"\n  Process {os.getpid()} has not answered in time\n", text)
        self.assertIn(job.name, text)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_another_user_is_refused(self):
        job = Job(self, "sleep", size=2)
        asking = ("import socket, sys\none = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=30)\n"
                  "one.sendall(b'CLIENT PROTOCOL 2\\nSTATUS\\n')\ntext = b''\n"
                  "while chunk := one.recv(65536): text += chunk\nprint(text.decode(), end='')")
        run = subprocess.run(["setpriv", f"--reuid={OTHER_UID}", "--clear-groups", sys.executable, "-c", asking,
                              str(job.port)], capture_output=True, text=True, cwd="/", timeout=LIMIT_S, check=False)
        self.assertEqual(run.stdout, REFUSAL, run.stderr)
        with self.assertRaises(PermissionError):
            other = Job(self, "sleep", size=2, prefix=["setpriv", f"--reuid={OTHER_UID}", "--clear-groups"])
            other.text()

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "needs root and setpriv")
    def test_a_user_who_cannot_be_told_gets_the_summary(self):
        # This id stands for all users that a user namespace does not have.
        job = Job(self, "loop", size=2, prefix=["setpriv", f"--reuid={NOBODY_UID}", "--clear-groups"])
        asking = ("import socket, sys\none = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=30)\n"
                  "one.sendall(sys.argv[2].encode())\ntext = b''\n"
                  "while chunk := one.recv(65536): text += chunk\nprint(text.decode(), end='')")
        ask = ["setpriv", f"--reuid={NOBODY_UID}", "--clear-groups", sys.executable, "-c", asking, str(job.port)]
        for command in ("VERBOSE STATUS\n", "SET FORMAT json\nSTATUS\n"):
            run = subprocess.run([*ask, command], capture_output=True, text=True, cwd="/", timeout=LIMIT_S, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("Which user asks cannot be told, so this is the summary alone.", run.stdout)
            for secret in (job.name, str(job.pids()[0]), str(job.pids()[1]), "all_reduce"):
                self.assertNotIn(secret, run.stdout)

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for level, says in (("debug", True), ("info", False), ("warn", False)):
                job = Job(self, "loop", size=2, NCCL_RAS_ADDR=address, RONDO_LOG=level)
                time.sleep(0.1)
                for rank in job.ranks:
                    rank.kill()
                    err = rank.stderr.read()
                    self.assertEqual(f"RAS: cannot listen on {address}: Address already in use" in err, says, err)
                    self.assertTrue(says or level == "info" or not err, err)

    def test_an_address_that_cannot_be_used(self):
        for address, has_effect in (("localhost", False), ("host.example:28028", False), ("1.2.3.4:0", False),
                                    ("[::1:28028", False), (f"127.0.0.1:{free_port()}", True)):
            job = Job(self, "run", size=1, NCCL_RAS_ADDR=address)
            for rank in job.ranks:
                rank.kill()
                warning = f"NCCL_RAS_ADDR={address} has no effect: where they listen"
                err = rank.stderr.read()
                self.assertEqual(warning in err, not has_effect, err)

    def test_the_switch(self):
        before = names()
        job = Job(self, "loop", size=2, NCCL_RAS_ENABLE="0")
        self.assertEqual(names() - before, set())
        with self.assertRaises(ConnectionRefusedError):
            job.text()

    def test_a_forked_child_keeps_nothing(self):
        job = Job(self, "fork", late=0, size=2)
        child = self.awaited(lambda children: len(children) == 1, lambda: self.children_of(job.pids()[0]))[0]
        try:
            self.awaited(lambda left: not left, lambda: self.sockets_of(child) & self.sockets_of(job.pids()[0]))
            self.assertIn(job.name, job.text())
            for rank in job.ranks:
                rank.kill()
                rank.wait(LIMIT_S)
            with self.assertRaises(ConnectionRefusedError):
                Client(job.port)
        finally:
            os.kill(child, signal.SIGKILL)

    @staticmethod
    def children_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(one) for one in file.read().split()]

    @staticmethod
    def sockets_of(pid):
        """Those that listen, by their inodes."""
        inodes = set()
        for one in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(f"/proc/{pid}/fd/{one}")))
        return inodes


def alone():
    """Other jobs of this user would be answered too: in a network namespace of its own, this test does not see them."""
    apart = ["unshare", "--net", sys.executable, *sys.argv, "apart"]
    if sys.argv[-1] != "apart" and os.geteuid() == 0 and shutil.which("unshare") and \
            subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        os.execvp(apart[0], apart)
    if sys.argv[-1] == "apart":
        with socket.socket() as one:  # brings lo up
            flags = struct.pack("16sh", b"lo", 0x1 | 0x8 | 0x40)
            fcntl.ioctl(one, 0x8914, flags)


if __name__ == "__main__":
    alone()
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong, skipped = len(result.failures) + len(result.errors), len(result.skipped)
    print(f"{result.testsRun - wrong - skipped} passed, {wrong} failed" + (f", {skipped} skipped" if skipped else ""),
          flush=True)
    sys.exit(1 if wrong else 0)
