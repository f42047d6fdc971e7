#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rondo-run as a user runs it: environment, output, failures, signals, and that nothing is left behind.

Usage: check_run.py RONDO_RUN
"""
import os
import signal
import subprocess
import sys
import time
import unittest

RUN = sys.argv.pop(1)


def run(*arguments, **options):
    options.setdefault("stdin", subprocess.DEVNULL)
    environment = {k: v for k, v in os.environ.items() if k != "RONDO_SECRET"}
    environment.update(options.pop("env", {}))
    return subprocess.run([RUN, *arguments], capture_output=True, timeout=60, env=environment, **options)


def processes_with(mark):
    """Ids of the processes whose environment contains the mark."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(name))
        except OSError:
            pass
    return found


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


class Environment(unittest.TestCase):
    def test_each_rank_knows_itself_and_the_others(self):
        shell = "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT $RONDO_SECRET"
        result = run("-n", "4", "sh", "-c", shell)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = sorted(result.stdout.decode().splitlines())
        meeting = {line.split(" ", 5)[5] for line in lines}
        self.assertEqual(len(meeting), 1, "all ranks meet at one place with one secret")
        self.assertRegex(meeting.pop(), r"^127\.0\.0\.1 \d+ [0-9a-f]{64}$")
        for rank, line in enumerate(lines):
            self.assertTrue(line.startswith(f"[{rank}] {rank} 4 {rank} 4 "), line)

    def test_a_secret_that_is_set_is_kept(self):
        result = run("-n", "1", "sh", "-c", "echo $RONDO_SECRET", env={"RONDO_SECRET": "mine"})
        self.assertEqual(result.stdout, b"[0] mine\n")

    def test_two_runs_have_two_secrets(self):
        show = ["-n", "1", "sh", "-c", "echo $RONDO_SECRET"]
        self.assertNotEqual(run(*show).stdout, run(*show).stdout)


class Output(unittest.TestCase):
    def test_streams_are_kept_apart_and_lines_whole(self):
        result = run("-n", "3", "sh", "-c", "seq 2000; seq 2000 >&2; printf end")
        for stream, numbers in ((result.stdout, 2000), (result.stderr, 2000)):
            lines = stream.decode().splitlines()
            for rank in range(3):
                own = [line[4:] for line in lines if line.startswith(f"[{rank}] ")]
                self.assertEqual(own[:numbers], [str(i + 1) for i in range(numbers)])
        self.assertEqual(result.stdout.decode().count("] end\n"), 3, "a last line without its end is passed on")

    def test_bytes_are_passed_on_as_they_are(self):
        result = run("-n", "1", "printf", r"a\000b\377\r\n")
        self.assertEqual(result.stdout, b"[0] a\0b\xff\r\n")

    def test_no_prefix_leaves_output_alone(self):
        self.assertEqual(run("-n", "2", "--no-prefix", "printf", "x").stdout, b"xx")

    def test_standard_input_goes_to_rank_0_only(self):
        result = run("-n", "3", "sh", "-c", "cat; echo over", stdin=None, input=b"typed\n")
        self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] over", b"[0] typed", b"[1] over", b"[2] over"])

    def test_a_reader_that_leaves_ends_the_run(self):
        command = f"{RUN} -n 2 yes | head -1; exit ${{PIPESTATUS[0]}}"
        result = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
        self.assertEqual(result.returncode, 128 + signal.SIGPIPE)


class Failures(unittest.TestCase):
    def test_an_exit_code_is_passed_on_and_the_others_end(self):
        start = time.monotonic()
        result = run("-n", "3", "sh", "-c", "[ $RANK = 1 ] && exit 7; exec sleep 50")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr.decode(), r"rank 1 \(process \d+\) exited with code 7; ending the others")
        self.assertLess(time.monotonic() - start, 20)

    def test_a_signal_is_told_and_passed_on(self):
        result = run("-n", "2", "sh", "-c", "[ $RANK = 0 ] && kill -SEGV $$; exec sleep 50")
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(result.stderr.decode(), r"rank 0 \(process \d+\) was ended by signal 11")

    def test_what_ignores_sigterm_is_killed_after_the_grace_period(self):
        start = time.monotonic()
        shell = "trap '' TERM; [ $RANK = 1 ] && { sleep 0.3; exit 3; }; while :; do sleep 0.1; done"
        result = run("-n", "2", "--grace", "0.5", "sh", "-c", shell)
        self.assertEqual(result.returncode, 3)
        self.assertLess(time.monotonic() - start, 20)

    def test_the_first_failure_counts(self):
        shell = "trap 'exit 9' TERM; [ $RANK = 1 ] && { sleep 0.2; exit 4; }; while :; do sleep 0.05; done"
        self.assertEqual(run("-n", "2", "sh", "-c", shell).returncode, 4)

    def test_keep_going_lets_the_others_finish(self):
        result = run("-n", "2", "--keep-going", "sh", "-c", "[ $RANK = 0 ] && exit 5; sleep 0.3; echo done")
        self.assertEqual(result.returncode, 5)
        self.assertEqual(result.stdout, b"[1] done\n")

    def test_last_words_come_before_the_report(self):
        result = run("-n", "1", "sh", "-c", "echo last words >&2; exit 1")
        self.assertLess(result.stderr.find(b"last words"), result.stderr.find(b"exited with code"))

    def test_a_program_that_is_not_there(self):
        result = run("-n", "2", "/nowhere/program")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stderr.count(b"cannot run /nowhere/program: No such file"), 1)

    def test_timeout(self):
        result = run("-n", "2", "--timeout", "0.3", "sleep", "50")
        self.assertEqual(result.returncode, 124)
        self.assertIn(b"2 of 2 ranks still run after 0.3 s", result.stderr)

    def test_the_number_of_ranks_as_mpirun_takes_it(self):
        show = ["sh", "-c", "echo $WORLD_SIZE $0 $1", "-np", "7"]
        for options in (["-np", "2"], ["--timeout", "50", "-np", "2", "--tag-output"], ["-np", "2", "--"]):
            result = run(*options, *show)
            self.assertEqual(sorted(result.stdout.splitlines()), [b"[0] 2 -np 7", b"[1] 2 -np 7"], result.stderr)

    def test_bad_options(self):
        cases = ((["ls"], "--ranks"), (["-n", "0", "ls"], "-n is 0: give 1 to"), (["-n", "x", "ls"], "--ranks"),
                 (["-n", "2"], "name the program"), (["-n", "2", "--what", "ls"], "there is no option --what"),
                 (["-np", "x", "ls"], "--ranks"), (["-np"], "--ranks"),
                 (["-n", "2", "--timout", "5", "ls"], "no option --timout; did you mean --timeout?"),
                 (["-n", "2", "--grace", "-1", "ls"], "--grace is -1"),
                 (["-n", "2", "--timeout", "-1", "ls"], "--timeout is -1"))
        for arguments, said in cases:
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(said, result.stderr.decode())


class Signals(unittest.TestCase):
    def start(self, shell, mark):
        environment = dict(os.environ, RONDO_RUN_TEST=mark)
        # Under nohup this process ignores SIGHUP, and a shell cannot trap a signal that was ignored when it began.
        started = subprocess.Popen([RUN, "-n", "2", "sh", "-c", shell], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment,
                                   preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        self.addCleanup(lambda: (started.poll() is None and started.kill(), started.communicate()))
        return started

    def mark(self):
        return f"{self.id()}-{os.getpid()}-{time.monotonic_ns()}"

    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            name = number.name[3:]
            shell = f"trap 'echo got {name}; exit 0' {name}; echo ready; while :; do sleep 0.05; done"
            started = self.start(shell, self.mark())
            ready = started.stdout.readline() + started.stdout.readline()
            self.assertEqual(sorted(ready.splitlines()), [b"[0] ready", b"[1] ready"])
            started.send_signal(number)
            output, said = started.communicate(timeout=30)
            self.assertEqual(sorted(output.splitlines()), [f"[{r}] got {name}".encode() for r in range(2)],
                             f"{name}: exit code {started.returncode}, {said.decode()}")
            self.assertEqual(started.returncode, 128 + number)

    def test_nothing_is_left_when_the_launcher_is_killed(self):
        mark = self.mark()
        # A child of the rank, like a data loader's worker, which does not end by itself.
        started = self.start("sleep 1000 & echo ready; sleep 1000", mark)
        started.stdout.readline(), started.stdout.readline()
        self.assertGreaterEqual(len(processes_with(mark)), 4)
        started.kill()
        self.assertTrue(wait_until(lambda: not processes_with(mark)), "processes are left")

    def test_nothing_is_left_after_a_failure_or_a_normal_end(self):
        for end in ("exit 0", "exit 1"):
            mark = self.mark()
            started = self.start(f"sleep 1000 & {end}", mark)
            started.communicate(timeout=30)
            self.assertTrue(wait_until(lambda: not processes_with(mark)), f"processes are left after {end}")


class Terminal(unittest.TestCase):
    def test_what_is_typed_reaches_rank_0(self):
        import pty
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(RUN, [RUN, "-n", "2", "sh", "-c", "[ $RANK = 1 ] || { read line; echo heard $line; }"])
        os.write(terminal, b"words\n")
        heard = b""
        try:
            while chunk := os.read(terminal, 4096):
                heard += chunk
        except OSError:  # how Linux reports the end of the terminal
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertIn(b"[0] heard words", heard)


if __name__ == "__main__":
    unittest.main(verbosity=1)
