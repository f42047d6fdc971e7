# SPDX-License-Identifier: Apache-2.0
"""check_flight.py RONDO-FLIGHT RONDO-RUN FLIGHT-JOB: the story of a job in which a rank makes another call, of files
written here, and what is said of files that are not right."""
import copy
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

FLIGHT, RUN, JOB = sys.argv[1:4]
sys.path.insert(0, FLIGHT)  # its modules are in it
from process_file import read  # noqa: E402
from strangers import BadFile  # noqa: E402

SECOND = 1_000_000_000


def call(number, **more):
    return {"number": number, "call": "all_reduce", "count": 1000, "bytes": 4000, "type": "float32", "op": "sum",
            "root": None, "on_gpu": False, "algorithm": "ring", "plan": "00000000000000aa", "began_ns": 90 * SECOND,
            "ended_ns": 90 * SECOND, "state": "done", **more}


def waiting(number, **more):
    return call(number, ended_ns=None, state="running", **more)


def comm(rank, size, calls, **more):
    in_call = bool(calls) and calls[-1]["ended_ns"] is None
    return {"name": "dp", "id": "1-1", "rank": rank, "size": size, "session_rank": rank, "transports": "none",
            "latest": calls[-1]["number"] if calls else 0, "activity": "in a call" if in_call else "in no call",
            "waits_for": None, "messages": None, "ended": False, "failure": None, "calls": calls, **more}


def process(*comms, **more):
    return {"format": "rondo-flight", "version": 1, "host": "a", "pid": 7, "rank": 0, "reason": "request",
            "written_ns": 100 * SECOND, "communicators": list(comms), **more}


class Flight(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, contents):
        if not isinstance(contents, (bytes, str)):
            contents = json.dumps(contents)
        with open(self.path(name), "wb") as file:
            file.write(contents.encode() if isinstance(contents, str) else contents)
        return self.path(name)

    def run_on(self, paths, *options, **more):
        return subprocess.run([sys.executable, FLIGHT, *options, *paths], text=True, timeout=60, check=False,
                              **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more})

    def story(self, *processes):
        paths = [self.write(f"{i}.json", one) for i, one in enumerate(processes)]
        result = self.run_on(paths)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        as_json = self.run_on(paths, "--json")
        self.assertEqual((as_json.returncode, as_json.stderr), (0, ""))
        return result.stdout, json.loads(as_json.stdout)["communicators"]

    def refused(self, contents, *words):
        path = self.write("bad.json", contents)
        result = self.run_on([path])
        self.assertEqual((result.returncode, result.stdout), (1, ""), result.stderr)
        self.assertTrue(result.stderr.startswith(f"rondo-flight: {path}: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_a_job_whose_rank_makes_another_call(self):
        environment = {**os.environ, "RONDO_FLIGHT_FILE": self.path("%r.json")}
        subprocess.run([RUN, "-n", "3", JOB, "1204"], env=environment, check=True, capture_output=True, timeout=100)
        self.assertEqual(sorted(os.listdir(self.folder)), ["0.json", "1.json", "2.json"])
        paths = [self.path(f"{rank}.json") for rank in range(3)]
        text = self.run_on(paths).stdout
        self.assertRegex(text, r"rank 1 never came to all_reduce 1,205 of 'world': last in all_reduce 1,204, "
                               r"which ended \d\.\d s before; now in broadcast 1 of 'second' for \d\.\d s\n")
        self.assertRegex(text, r"ranks 0, 2 never came to broadcast 1 of 'second': no call yet; now in "
                               r"all_reduce 1,205 of 'world' for \d\.\d s\n")
        self.assertRegex(text, r"the failure: RONDO_(MISMATCH|TIMEOUT): ")
        self.assertIn("ranks 0, 2  in all_reduce 1,205", text)
        killed = self.run_on(paths[::2]).stdout
        self.assertIn("rank 1 of 'world' left no file", killed)

    def test_a_rank_that_came_late_and_the_times_of_its_own_clock(self):
        waits = [call(1203), waiting(1204, began_ns=80 * SECOND)]
        files = [process(comm(rank, 4, waits, waits_for=3), written_ns=(100 + 500 * rank) * SECOND) for rank in (0, 1)]
        files.append(process(comm(3, 4, [call(1203)]), written_ns=103 * SECOND))
        text, comms = self.story(*files)
        self.assertIn("communicator 'dp', 4 ranks, at all_reduce 1,204: waits\n", text)
        self.assertIn("  rank 3 never came to all_reduce 1,204 of 'dp': last in all_reduce 1,203, "
                      "which ended 13.0 s before\n", text)
        self.assertIn("  rank 2 of 'dp' left no file", text)
        self.assertRegex(text, r"    ranks 0, 1 +in all_reduce 1,204, wait for rank 3 for 520.0 s\n")
        self.assertEqual(comms[0]["late_ranks"], [3])
        self.assertEqual(comms[0]["missing_ranks"], [2])
        self.assertEqual(comms[0]["waiting_ranks"], [0, 1])
        self.assertEqual([rank["rank"] for rank in comms[0]["ranks"]], [0, 1, 3])

    def test_the_first_call_that_ranks_made_differently(self):
        kinds = [call(6), call(6), call(6, call="broadcast", op=None, root=1)]
        files = [process(comm(rank, 3, [call(5), kinds[rank], call(7, count=rank)])) for rank in range(3)]
        text, comms = self.story(*files)
        self.assertIn("ranks disagree about call 6: ranks 0, 1 called all_reduce(count=1000, float32, sum); "
                      "rank 2 called broadcast(count=1000, float32, root=1)\n", text)
        self.assertEqual(comms[0]["mismatch"]["number"], 6)
        self.assertEqual([kind["ranks"] for kind in comms[0]["mismatch"]["calls"]], [[0, 1], [2]])

    def test_lengths_of_v_forms_may_differ_and_plans_may_not(self):
        files = [process(comm(rank, 2, [call(1, call="all_gather_v", count=rank, bytes=4 * rank)])) for rank in (0, 1)]
        self.assertIsNone(self.story(*files)[1][0]["mismatch"])
        files = [process(comm(rank, 2, [call(1, plan=f"{rank:016x}")])) for rank in (0, 1)]
        self.assertIn("by different algorithms or settings\n", self.story(*files)[0])

    def test_ranks_that_finalized_messages_and_no_trouble(self):
        ended = comm(1, 2, [call(3)], activity="finalized", ended=True)
        text, _ = self.story(process(comm(0, 2, [call(3), waiting(4)])), process(ended))
        self.assertIn("rank 1 called rondo_finalize() of 'dp' instead of all_reduce 4\n", text)
        receives = comm(0, 1, [], activity="in messages", messages="recv(from 1, tag 7)")
        self.assertIn("waits in recv(from 1, tag 7)", self.story(process(receives))[0])
        text, _ = self.story(process(comm(0, 1, [call(9)])))
        self.assertEqual(text, "communicator 'dp', 1 rank, at all_reduce 9: no failure\n"
                               "    rank 0  is done with all_reduce 9 for 10.0 s\n")
        self.assertEqual(self.story(process())[0], "no communicator is in these files\n")

    def test_many_ranks_share_lines(self):
        files = [process(comm(rank, 600, [call(1), waiting(2)] if rank % 100 else [call(1)]),
                         written_ns=100 * SECOND + rank * SECOND // 100) for rank in range(500)]
        text, _ = self.story(*files)
        self.assertIn("ranks 0, 100, 200, 300, 400 never came to all_reduce 2 of 'dp': last in all_reduce 1, which "
                      "ended 14.0 s before", text)
        self.assertIn("ranks 500 to 599 of 'dp' left no file", text)
        self.assertLess(text.count("\n"), 8)

    def test_one_rank_waits_and_two_wait(self):
        done = [call(3)]
        cases = [
            ("is done with all_reduce 3", "are done with all_reduce 3", done, {}),
            ("has put all_reduce 3 on a stream", "have put all_reduce 3 on a stream", [call(3, state="on stream")], {}),
            ("waits in rondo_finalize() after", "wait in rondo_finalize() after", done, {"activity": "finalizing"}),
            ("has called rondo_finalize()", "have called rondo_finalize()", done, {"activity": "finalized"}),
            ("waits in recv()", "wait in recv()", done, {"activity": "in messages", "messages": "recv()"}),
            ("has made no call", "have made no call", [], {})]

        def of_rank(rank, size):
            return process(*[comm(rank, size, calls, id=f"1-{at}", **more)
                             for at, (_, _, calls, more) in enumerate(cases)])
        alone, _ = self.story(of_rank(0, 1))
        together, comms = self.story(of_rank(0, 3), of_rank(1, 3))
        for one, two, _, _ in cases:
            self.assertIn(f"    rank 0  {one}", alone)
            self.assertIn(f"    ranks 0, 1  {two}", together)
            self.assertTrue(any(comm["ranks"][0]["place"].startswith(one) for comm in comms))

    def test_communicators_of_a_million_ranks(self):
        comms = [comm(5, 10**6, [waiting(1)], id=f"1-{i}") for i in range(300)]
        began = time.monotonic()
        result = self.run_on([self.write("0.json", process(*comms))])
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(result.stdout.count("  ranks 0 to 4, 6 to 999999 of 'dp' left no file: ended, killed or "
                                             "stopped before they could, or not among these files\n"), 300)
        _, stories = self.story(process(comms[0]))
        self.assertEqual(stories[0]["missing_ranks"], [rank for rank in range(10**6) if rank != 5])

    def test_where_programs_are(self):
        module = self.write("train", "no ELF file")
        frames = [{"function": "step", "module": module, "offset": 4660, "build_id": "ab"},
                  {"function": None, "module": None, "offset": 7, "build_id": None}]
        main = {"thread": 7, "name": "train", "runs": True, "place": "is in step() (train+0x1234)", "python": [],
                "native": frames}
        python = {"file": "/job/train.py", "line": 214, "function": "step"}
        other = {**main, "thread": 8, "runs": False, "place": "is in train.py:214 (step)", "python": [python]}
        late = process(comm(2, 3, [call(1)], thread=7), threads=[main, other], threads_note="as a lock was held")
        waits = [process(comm(rank, 3, [call(1), waiting(2)], thread=8), threads=[main, other], threads_note=None)
                 for rank in (0, 1)]
        text, comms = self.story(*waits, late)
        self.assertIn("\n  the program of rank 2 is in step() (train+0x1234); as a lock was held\n"
                      "  the program of ranks 0, 1 is in train.py:214 (step)\n", text)
        self.assertEqual([one["program"] for one in comms[0]["ranks"]],
                         ["is in train.py:214 (step)"] * 2 + ["is in step() (train+0x1234); as a lock was held"])
        stacks = self.run_on([os.path.join(self.folder, f"{i}.json") for i in range(3)], "--stacks").stdout
        native = f"        {module}+0x1234 (step)\n        code+0x7\n"
        self.assertIn(f"\n  rank 2, process 7 on host a:\n    thread 7 (train), which runs\n{native}"
                      "    thread 8 (train), which waits\n        /job/train.py:214 (step)\n" + native, stacks)
        healthy = process(comm(0, 1, [call(1)], thread=7), threads=[main], threads_note=None)
        self.assertNotIn("the program", self.story(healthy)[0])
        self.assertIsNone(self.story(process(comm(0, 1, [waiting(1)])))[1][0]["ranks"][0]["program"])
        for place, value, words in [
                (["threads"], 7, "the file.threads is 7: it must be a list"),
                (["threads_note"], 7, "the file.threads_note is 7: it must be a text, or null"),
                (["threads", 0], 7, "threads[0] is 7: it must be an object"),
                (["threads", 1, "runs"], 7, "threads[1].runs is 7: it must be true or false"),
                (["threads", 1, "python", 0, "line"], "x", 'threads[1].python[0].line is "x": it must be a whole'),
                (["threads", 0, "native", 1, "offset"], None, "threads[0].native[1].offset is null")]:
            bad = copy.deepcopy(late)
            last = bad
            for key in place[:-1]:
                last = last[key]
            last[place[-1]] = value
            self.refused(bad, words)

    def test_odd_names_reach_no_terminal(self):
        odd = comm(0, 1, [waiting(1, call="\x1b[2J")], name="a\x1b]0;b\x07\n\u202e")
        text, comms = self.story(process(odd))
        self.assertIn("'a\\u001b]0;b\\u0007\\u000a\\u202e'", text)
        self.assertNotIn("\x1b", text)
        self.assertEqual(comms[0]["name"], "a\x1b]0;b\x07\n\u202e")

    def test_a_name_in_letters_that_the_terminal_lacks(self):
        path = self.write("0.json", process(comm(0, 1, [], name="\u65e5")))
        result = self.run_on([path], env={**os.environ, "PYTHONIOENCODING": "ascii"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("'\\u65e5'", result.stdout)

    def test_output_to_a_full_device(self):
        path = self.write("0.json", process(comm(0, 1, [])))
        for options in ([], ["--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = self.run_on([path], *options, stdout=full)
            self.assertEqual((result.returncode, result.stderr),
                             (1, "rondo-flight: cannot write standard output: No space left on device\n"))

    def test_ctrl_c(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        with subprocess.Popen([sys.executable, FLIGHT, pipe], stderr=subprocess.PIPE, text=True) as run:
            until = time.monotonic() + 60
            while "wait_for_partner" not in self.place_of(run) and time.monotonic() < until:
                time.sleep(0.01)
            run.send_signal(signal.SIGINT)
            self.assertEqual((run.stderr.read(), run.wait(60)), ("", 130))

    @staticmethod
    def place_of(run):
        """The kernel function in which it waits."""
        with open(f"/proc/{run.pid}/wchan", encoding="ascii") as file:
            return file.read()

    def test_values_that_are_nested_too_deeply(self):
        for depth in range(800, 1000):  # what can be parsed cannot always be quoted
            path = self.write("bad.json", '{"format": ' + "[" * depth + "]" * depth + "}")
            self.assertRaises(BadFile, read, path)

    def test_files_that_are_not_right(self):
        good = process(comm(0, 2, [call(1), waiting(2)]))
        lines = json.dumps(good, indent=0)
        self.refused("", "empty")
        self.refused(lines[:len(lines) // 2], "line ", "column ", "cut off")
        self.refused(lines[:-2], "line ", "column ", "cut off")
        self.refused("{\n\n  nonsense\n}", "line 3, column 3", "not JSON")
        self.refused(lines + "}", "line ", "Extra data")
        self.refused(b"{\n\"a\": \"\xff\"}", "line 2", "byte 8", "UTF-8")
        self.refused("[" * 100_000, "not a file of Rondo")
        self.refused('{"pid": NaN}', "NaN")
        self.refused('{"pid": 1, "pid": 2}', "same name")
        self.refused('{"pid": ' + "9" * 10_000 + "}", "not a file of Rondo")
        self.refused("[]", "the file is []: it must be an object")
        self.refused(b" " * ((64 << 20) + 1), "more than 64 MiB")
        for path, value, words in [
                (["format"], "other", 'the file.format is "other": it must be one of "rondo-flight"'),
                (["version"], 2, "the file.version is 2: it must be one of 1"),
                (["version"], True, "the file.version is true"),
                (["pid"], "7", 'the file.pid is "7": it must be a whole number'),
                (["written_ns"], 10**400, "the file.written_ns is 1000"),
                (["communicators"], {}, "the file.communicators is {}: it must be a list"),
                (["communicators", 0], None, "communicators[0] is null: it must be an object"),
                (["communicators", 0, "rank"], 2, "communicators[0].rank is 2: it must be from 0 to 1"),
                (["communicators", 0, "size"], 10**15, "communicators[0].size is 1000000000000000: it must be at most"),
                (["communicators", 0, "failure"], {"status": "x"}, 'communicators[0].failure has no "text"'),
                (["communicators", 0, "calls", 1, "count"], -5, "communicators[0].calls[1].count is -5"),
                (["communicators", 0, "calls", 1, "began_ns"], 2**64, "must be a whole number from -1 to 2^64 - 1"),
                (["communicators", 0, "calls", 1, "state"], "odd", 'calls[1].state is "odd": it must be one of'),
                (["communicators", 0, "calls", 1, "number"], 1, "calls[1].number is 1: calls must be in order"),
                (["communicators", 0, "calls", 1, "number"], 3, "calls[1].number is 3: calls must be in order")]:
            bad = copy.deepcopy(good)
            place = bad
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            self.refused(bad, words)
        for field in good:
            self.refused({name: value for name, value in good.items() if name != field}, f'has no "{field}"')

    def test_files_that_do_not_belong_together(self):
        first = self.write("first.json", process(comm(0, 2, [])))
        for other, words in [(comm(0, 2, []), "rank 0 of communicator 'dp' is also in"),
                             (comm(1, 3, []), "communicator 'dp' has 3 ranks, but 2 in")]:
            result = self.run_on([first, self.write("second.json", process(other))])
            self.assertEqual(result.returncode, 1)
            self.assertIn(words, result.stderr)
            self.assertIn("first.json", result.stderr)
        for path, words in [(self.path("none.json"), "No such file"), (self.folder, "directory")]:
            result = self.run_on([path])
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"{path}: ", result.stderr)
            self.assertIn(words, result.stderr)

    def test_wrong_usage(self):
        for arguments in ([], ["--yaml", "x"]):
            result = self.run_on(arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("usage: rondo-flight", result.stderr)


if __name__ == "__main__":
    result = unittest.main(argv=sys.argv[:1], exit=False).result
    wrong = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)
