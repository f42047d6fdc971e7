# SPDX-License-Identifier: Apache-2.0
"""check_ps.py RONDO-PS RONDO-RUN PS-JOB PYTHON-PACKAGE: what rondo-ps says of jobs that run, wait, are stopped and have
ended."""
import os
import signal
import subprocess
import sys

from ps_jobs import ENVIRONMENT, JOB, PsCase, kill_session, names

from cases import LIMIT_S, run_cases


PACKAGE = os.path.abspath(sys.argv.pop(1))
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


class Jobs(PsCase):
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


if __name__ == "__main__":
    run_cases()
