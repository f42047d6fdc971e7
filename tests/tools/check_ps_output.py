# SPDX-License-Identifier: Apache-2.0
"""check_ps_output.py RONDO-PS RONDO-RUN PS-JOB: what rondo-ps writes, once and repeatedly, to terminals and files."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time

from ps_jobs import ENVIRONMENT, JOB, PS, PsCase, pretender

from cases import LIMIT_S, run_cases
from ps_answers import comm, process


class Output(PsCase):
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
            run = self.ran(*options)
            self.assertEqual(run.returncode, 2)
            self.assertIn("usage: rondo-ps", run.stderr)

    def test_output_that_cannot_be_written(self):
        with pretender(process(comm(0, 2, name="\u65e5"))):
            for options in ([], ["--json"], ["--watch"]):
                with open("/dev/full", "w", encoding="utf-8") as full:
                    run = self.ran(*options, stdout=full)
                self.assertEqual((run.returncode, run.stderr),
                                 (1, "rondo-ps: cannot write standard output: No space left on device\n"))
            text = self.output(env={**ENVIRONMENT, "PYTHONIOENCODING": "ascii"})
        self.assertIn("communicator '\\u65e5', 2 ranks", text)

    def test_many_communicators(self):
        comms = [comm(0, 1, id=f"1-{at:x}", name=f"c{at}", waits=at == 40) for at in range(64)]
        with pretender(process(*comms, omitted=936)):
            text, data = self.output(), self.data()
        self.assertEqual(re.findall("communicator '(.*?)'", text)[0], "c40")
        self.assertEqual(text.count("communicator '"), 16)
        self.assertIn("\n  48 more communicators; --json shows them\n", text)
        self.assertIn("\n  at least 936 more communicators, of which the processes say nothing", text)
        self.assertEqual(len(data["jobs"][0]["communicators"]), 64)
        self.assertEqual(data["jobs"][0]["omitted"], 936)


if __name__ == "__main__":
    run_cases()
