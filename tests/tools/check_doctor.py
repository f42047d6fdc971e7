#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-doctor as users start it, alone and as ranks of a job on this host. usage: check_doctor.py RONDO_DOCTOR
RONDO_RUN"""
import os
import re
import subprocess
import sys
import unittest

RUN = sys.argv.pop(2)
DOCTOR = sys.argv.pop(1)
FAULTS_FOUND = 3


def run(*command, **variables):
    environment = {k: v for k, v in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={**environment, **variables},
                          stdin=subprocess.DEVNULL, check=False)


def job(ranks, *command, **variables):
    return run(RUN, "-n", str(ranks), "--no-prefix", *command, **variables)


class Doctor(unittest.TestCase):
    def examined(self, result):
        """Checks that each fault comes with a cost and a cure, and returns the lines."""
        self.assertIn(result.returncode, (0, FAULTS_FOUND), result.stderr)
        lines = result.stdout.splitlines()
        cures = [line for line in lines if line.startswith("-> ")]
        self.assertEqual(bool(cures), result.returncode == FAULTS_FOUND, result.stdout)
        self.assertEqual("no fault found" in lines, not cures, result.stdout)
        return lines

    def test_alone_it_looks_at_this_host(self):
        lines = self.examined(run(DOCTOR))
        self.assertRegex(lines[0], r"^1 rank on 1 host: .+ \(0\)$")
        self.assertIn("rondo-run -n 4 rondo-doctor", lines[-1])

    def test_more_ranks_than_cpus_are_a_fault(self):
        cpus = len(os.sched_getaffinity(0))
        lines = self.examined(job(2 * cpus, DOCTOR))
        self.assertRegex(lines[0], rf"^{2 * cpus} ranks on 1 host: .+ \(0-{2 * cpus - 1}\)$")
        shared = f"{2 * cpus} ranks share {cpus} CPU{'s' if cpus > 1 else ''}"
        self.assertRegex("\n".join(lines), rf"a rank did not run for \d+% of 200 ms: {shared},"
                         r".*\n-> start no more ranks than")

    @unittest.skipIf(os.geteuid() != 0, "needs root, for a process namespace of its own")
    def test_ranks_that_may_not_read_one_another_are_a_fault(self):
        apart = f"if [ $RANK = 1 ]; then exec unshare --pid --fork {DOCTOR}; fi; exec {DOCTOR}"
        lines = self.examined(job(2, "sh", "-c", apart))
        self.assertRegex("\n".join(lines), r"ranks may not read one another's memory \(process_vm_readv: .*\)"
                         r".*\n-> .*--cap-add=SYS_PTRACE")
        self.assertNotIn("process_vm_readv", "\n".join(self.examined(job(2, DOCTOR))))

    def test_ranks_that_do_not_use_the_memory_of_their_host_are_a_fault(self):
        lines = self.examined(job(2, DOCTOR, RONDO_TRANSPORT="tcp"))
        self.assertRegex(lines[0], r"^2 ranks on 1 host: .+ \(0-1\)$")
        self.assertRegex("\n".join(lines), "ranks of this host exchange messages by tcp.*\n-> unset RONDO_TRANSPORT")

    def test_a_rank_that_does_not_come_is_named_in_time(self):
        result = run(DOCTOR, "--timeout", "0.5", RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="0",
                     RONDO_SECRET="correct horse")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stderr, r"^rondo-doctor: .*MASTER_PORT")
        result = job(2, "sh", "-c", f"[ $RANK = 1 ] && exec sleep 2; exec {DOCTOR} --timeout 0.5")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertRegex(result.stderr, "rondo-doctor: .*1 of 2 ranks did not join within 0.5 s: 1 \\[R0101\\]\n")

    def test_wrong_options_are_refused(self):
        for words in (["--timeout", "0"], ["--timeout", "soon"], ["--timeout", "nan"], ["--nonsense"], ["host"]):
            result = run(DOCTOR, *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertTrue(re.search(words[0], result.stdout + result.stderr), words)


if __name__ == "__main__":
    unittest.main()
