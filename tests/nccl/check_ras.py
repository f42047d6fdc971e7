# SPDX-License-Identifier: Apache-2.0
"""check_ras.py RAS-JOB: what a job on libnccl.so.2 answers to NCCL's client ncclras: jobs that run, hang, are stopped,
end and have ended."""
import os
import re
import signal

from ras_jobs import Job

from cases import WaitingCase, run_cases


SECTIONS = ["Job summary", "Errors", "Warnings", "Notes"]
COLLECTIVES = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "AlltoAll", "Gather", "Scatter"}


class Answers(WaitingCase):
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
        os.waitpid(job.pids()[2], os.WUNTRACED)  # until then it might begin an answer
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
        text = self.awaited(lambda text: "ERROR" in text and "have made different calls" in text, job.text)
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


if __name__ == "__main__":
    run_cases()
