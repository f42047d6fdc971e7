# SPDX-License-Identifier: Apache-2.0
"""check_trace.py RONDO-TRACE RONDO-RUN RONDO-PERF: the timeline of a job, the clocks of hosts in files written here,
and what is said of files that are not right."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

TRACE, RUN, PERF = sys.argv[1:4]
sys.path.insert(0, TRACE)  # its modules are in it
import joined  # noqa: E402
from clocks import align  # noqa: E402
from job_files import read_all  # noqa: E402


def head(rank, **more):
    return {"name": "rondo-trace", "ph": "M", "pid": rank, "tid": 0, "args": {
        "format": "rondo-trace", "version": 1, "host": f"host{rank}", "boot": f"boot{rank}", "pid": 7, "rank": rank,
        "monotonic_ns": 1000, "wall_ns": 10**18, **more}}


def comm(rank, size, name="dp"):
    return {"name": "rondo-communicator", "ph": "M", "pid": rank, "tid": 1000, "args": {
        "communicator": name, "id": "1-1", "rank": rank, "size": size, "transports": "none"}}


def call(rank, number, begin_us, end_us, **more):
    return {"name": more.get("call", "all_reduce"), "cat": "call", "ph": "X", "pid": rank, "tid": 1000, "ts": begin_us,
            "dur": end_us - begin_us, "args": {
                "communicator": "dp", "id": "1-1", "rank": rank, "number": number, "call": "all_reduce", "count": 1,
                "bytes": 4, "state": "done", **more}}


def message(rank, name, number, peer, begin_us, end_us):
    return {"name": name, "cat": "message", "ph": "X", "pid": rank, "tid": 1001, "ts": begin_us,
            "dur": end_us - begin_us, "args": {"communicator": "dp", "id": "1-1", "rank": rank, "message": number,
                                               "peer": peer, "bytes": 4, "state": "done"}}


def lines(*events):
    return "[\n" + "".join(json.dumps(event) + ",\n" for event in events)


class Trace(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
        return self.path(name)

    def run_on(self, paths, *options):
        return subprocess.run([sys.executable, TRACE, *options, *paths], capture_output=True, text=True, timeout=100,
                              check=False)

    def merged(self, *texts):
        """The summary and the timeline of files with these texts."""
        paths = [self.write(f"{i}.json", text) for i, text in enumerate(texts)]
        result = self.run_on(paths, "--json", "-o", self.path("job"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with open(self.path("job"), encoding="utf-8") as file:
            return json.loads(result.stdout), json.load(file)

    def refused(self, text, *words):
        path = self.write("bad.json", text)
        result = self.run_on([path])
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith(f"rondo-trace: {path}: "), result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def check_timeline(self, events):
        """Arrows have both ends, within slices; the slices of a thread nest."""
        threads, flows = {}, {}
        for event in events:
            if event["ph"] == "X":
                threads.setdefault((event["pid"], event["tid"]), []).append(
                    (round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)))
            elif event["ph"] in "stf":
                flows.setdefault(event["id"], []).append(event)
        for slices in threads.values():
            slices.sort(key=lambda one: (one[0], -one[1]))
            open_ends = []
            for begin, end in slices:
                while open_ends and open_ends[-1] <= begin + 1:
                    open_ends.pop()
                self.assertTrue(not open_ends or end <= open_ends[-1] + 1)
                open_ends.append(end)
        bounds = {thread: {at for one in slices for at in one} for thread, slices in threads.items()}
        for flow in flows.values():
            self.assertEqual([event["ph"] for event in flow], ["s"] + ["t"] * (len(flow) - 2) + ["f"])
            for event in flow:
                at = round(event["ts"] * 1000)
                self.assertTrue({at - 1, at, at + 1} & bounds[event["pid"], event["tid"]])
        return threads, flows

    def test_the_timeline_of_a_job_has_all_calls_and_arrows(self):
        environment = {**os.environ, "RONDO_TRACE": self.path("%r.json")}
        subprocess.run([RUN, "-n", "4", PERF, "all_reduce", "-b", "8", "-e", "8"], env=environment, check=True,
                       stdout=subprocess.DEVNULL, timeout=60)
        paths = [self.path(f"{rank}.json") for rank in range(4)]
        result = self.run_on(paths, "--json", "-o", self.path("job"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        summary = json.loads(result.stdout)
        self.assertEqual(len(summary["clocks"]), 1)
        with open(self.path("job"), encoding="utf-8") as file:
            events = json.load(file)
        slices = [event for event in events if event["ph"] == "X"]
        world = next(one for one in summary["communicators"] if one["size"] == 4)
        one = world["collectives"]["all_reduce"]
        self.assertGreater(one["calls"], 10)
        self.assertEqual(one["incomplete"], 0)
        self.assertEqual(sum(event["name"] == "all_reduce" for event in slices), 4 * one["calls"])
        self.assertEqual(sum(rank["last"] for rank in world["ranks"].values()),
                         sum(one["calls"] for one in world["collectives"].values()))
        _, flows = self.check_timeline(events)
        self.assertEqual([len(flow) for flow in flows.values()], [4] * sum(
            one["calls"] for one in world["collectives"].values()))
        text = self.run_on(paths).stdout
        self.assertIn("communicator 'world', 4 ranks", text)
        self.assertIn("came last", text)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare") and os.path.exists("/proc/self/ns/time"),
                         "needs root, unshare and time namespaces")
    def test_the_monotonic_clock_of_a_time_namespace(self):
        shifted = '[ $RANK = 0 ] || shift="unshare --time --fork --monotonic 1000"; exec $shift "$@"'
        job = [RUN, "-n", "2", "sh", "-c", shifted, "sh", PERF, "all_reduce", "-b", "8", "-e", "8"]
        environment = {**os.environ, "RONDO_TRACE": self.path("%r.json")}
        subprocess.run(job, timeout=60, env=environment, check=True, stdout=subprocess.DEVNULL)
        result = self.run_on([self.path(f"{rank}.json") for rank in (0, 1)], "--json")
        clocks = json.loads(result.stdout)["clocks"]
        self.assertEqual([clock["by"] for clock in clocks], ["reference", "calls and messages"])
        self.assertLess(abs(clocks[1]["offset_ns"]), 100_000_000)

    def test_arrows_join_calls_and_messages(self):
        _, events = self.merged(
            lines(head(0, boot="a"), comm(0, 3), call(0, 1, 1, 9), message(0, "send", 1, 1, 10, 11),
                  call(0, 2, 20, 30)),
            lines(head(1, boot="a"), comm(1, 3), call(1, 1, 2, 9), message(1, "recv", 1, 0, 9.5, 12),
                  call(1, 2, 21, 30)),
            lines(head(2, boot="a"), comm(2, 3), call(2, 1, 3, 9)))
        _, flows = self.check_timeline(events)
        self.assertEqual(sorted(len(flow) for flow in flows.values()), [2, 2, 3])

    def test_the_clocks_of_hosts_are_corrected(self):
        for wrong_us in (0, 5000, -70_000):
            calls = [(number, 100 * number, 100 * number + 40) for number in range(1, 50)]
            summary, events = self.merged(
                lines(head(0), comm(0, 2), *(call(0, number, begin, end) for number, begin, end in calls)),
                lines(head(1), comm(1, 2), *(call(1, number, begin + wrong_us + 30, end + wrong_us)
                                             for number, begin, end in calls)))
            self.check_timeline(events)
            clock = summary["clocks"][1]
            self.assertEqual(clock["by"], "calls and messages")
            self.assertLessEqual(abs(clock["offset_ns"] + wrong_us * 1000), clock["error_ns"] + 1)
            self.assertLessEqual(clock["error_ns"], 30_000)

    def test_wall_clocks_may_be_far_apart(self):
        hour_ns = 3600 * 10**9
        texts = [lines(head(rank, wall_ns=10**18 + rank * hour_ns), comm(rank, 2),
                       *(call(rank, number, 100 * number + 30 * rank, 100 * number + 40) for number in range(1, 100)))
                 for rank in (0, 1)]
        files = read_all([self.write(f"{i}.json", text) for i, text in enumerate(texts)])
        with mock.patch.object(joined, "MAX_PENDING", 20):
            clock = align(files)[1]
        self.assertEqual(clock.how, "calls and messages")
        self.assertLessEqual(abs(clock.shift + hour_ns), clock.error + 1)
        self.assertLessEqual(clock.error, 30_000)

    def test_a_third_host_is_corrected_by_messages_over_the_second(self):
        summary, _ = self.merged(
            lines(head(0), comm(0, 3), message(0, "send", 1, 1, 10, 11), message(0, "recv", 1, 1, 15, 20)),
            lines(head(1), comm(1, 3), message(1, "recv", 1, 0, 500, 512), message(1, "send", 1, 0, 516, 517),
                  message(1, "send", 1, 2, 520, 521), message(1, "recv", 1, 2, 525, 530)),
            lines(head(2), comm(2, 3), message(2, "recv", 1, 1, 900, 922), message(2, "send", 1, 1, 926, 927)))
        self.assertEqual([clock["by"] for clock in summary["clocks"]],
                         ["reference", "calls and messages", "calls and messages"])
        self.assertLess(abs(summary["clocks"][1]["offset_ns"] + 500_000), 6000)
        self.assertLess(abs(summary["clocks"][2]["offset_ns"] + 900_000), 12_000)

    def test_the_late_rank_is_named(self):
        summary, _ = self.merged(
            lines(head(0, boot="a"), comm(0, 2), *(call(0, n, 100 * n, 100 * n + 50) for n in range(1, 11))),
            lines(head(1, boot="a"), comm(1, 2), *(call(1, n, 100 * n + 40, 100 * n + 50) for n in range(1, 11))))
        ranks = summary["communicators"][0]["ranks"]
        self.assertEqual((ranks["0"]["last"], ranks["1"]["last"]), (0, 10))
        self.assertAlmostEqual(ranks["0"]["waited_share"], 0.8)
        self.assertEqual(ranks["1"]["waited_ns"], 0)
        self.assertEqual(ranks["1"]["most_late_ns"], 40_000)
        one = summary["communicators"][0]["collectives"]["all_reduce"]
        self.assertEqual((one["calls"], one["bytes"], one["bytes_per_s"]), (10, 40, 400_000))

    def test_what_a_missing_file_leaves_unknown(self):
        texts = [lines(head(rank, boot="a"), comm(rank, 9), call(rank, 1, 1, 11)) for rank in (0, 5)]
        summary, _ = self.merged(*texts)
        self.assertIsNone(summary["communicators"][0]["ranks"]["0"]["waited_share"])
        result = self.run_on([self.path("0.json"), self.path("1.json")])
        self.assertIn("of 1 call some ranks' part is missing: ranks 1 to 4, 6 to 8 are in no file\n", result.stdout)
        self.assertRegex(result.stdout, r"rank 0 +- +0 +- +-\n")

    def test_only_calls_that_are_done_have_a_rate(self):
        for state in ("on stream", "failed", "refused"):
            summary, _ = self.merged(
                *(lines(head(rank, boot="a"), comm(rank, 2), call(rank, 1, 1, 11),
                        call(rank, 2, 20, 5_000_020, state=state, bytes=10**9)) for rank in (0, 1)))
            one = summary["communicators"][0]["collectives"]["all_reduce"]
            self.assertEqual((one["calls"], one["bytes"], one["bytes_per_s"]), (2, 4, 400_000))

    def test_a_last_line_that_is_cut_off_is_mentioned(self):
        text = lines(head(0), comm(0, 1), call(0, 1, 1, 2))
        result = self.run_on([self.write("a", text + json.dumps(call(0, 2, 3, 4))[:40])])
        self.assertEqual(result.returncode, 0)
        self.assertIn("line 5 is cut off", result.stdout)

    def test_names_do_not_reach_the_terminal_as_they_are(self):
        result = self.run_on([self.write("a", lines(head(0), comm(0, 1, "\x1b[31m\n")))])
        self.assertNotIn("\x1b", result.stdout)
        self.assertIn("\\u001b[31m\\u000a", result.stdout)

    def test_remarks_are_summed_up(self):
        remark = {"name": "records dropped", "cat": "remark", "ph": "i", "s": "p", "pid": 0, "tid": 0, "ts": 5,
                  "args": {"dropped": 7}}
        other = {**remark, "name": "x" * 1000, "args": {}}
        path = self.write("a", lines(head(0), comm(0, 1), *[remark] * 5000, *[other] * 5000))
        said = self.run_on([path]).stdout.splitlines()
        self.assertIn(f"{path}: 35,000 records were dropped, as they came faster than they could be written", said)
        self.assertLess(len(said), 110)
        self.assertLess(max(map(len, said)), 500)

    def test_output_that_cannot_be_written(self):
        path = self.write("a", lines(head(0), comm(0, 1, "\u65e5")))
        for options in ([], ["--json"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([sys.executable, TRACE, *options, path], stdout=full, stderr=subprocess.PIPE,
                                        text=True, timeout=100, check=False)
            self.assertEqual((result.returncode, result.stderr),
                             (1, "rondo-trace: cannot write standard output: No space left on device\n"))
        result = subprocess.run([sys.executable, TRACE, path], capture_output=True, text=True, timeout=100, check=False,
                                env={**os.environ, "PYTHONIOENCODING": "ascii"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("'\\u65e5'", result.stdout)

    def test_ctrl_c(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        path = self.write("a", lines(head(0), comm(0, 1)))
        with subprocess.Popen([sys.executable, TRACE, "-o", pipe, path], stderr=subprocess.PIPE, text=True) as run:
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

    def test_more_files_than_descriptors(self):
        paths = [self.write(f"{rank}.json", lines(head(rank, boot="a"), comm(rank, 40), call(rank, 1, rank, 50)))
                 for rank in range(40)]
        limit = ["sh", "-c", "ulimit -S -n 20; exec \"$@\"", "sh"]
        result = subprocess.run([*limit, sys.executable, TRACE, *paths], capture_output=True, text=True, timeout=100,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("communicator 'dp', 40 ranks", result.stdout)

    def test_files_that_are_not_right_are_refused(self):
        self.refused("", "the file is empty")
        self.refused('{"format":"rondo-flight"}', "line 1", "not a trace of Rondo")
        self.refused("[\n", "line 2", "head")
        self.refused(lines({"name": "x", "ph": "X"}), "line 2", "head")
        self.refused(lines(head(0, version=2)), "line 2", "version 2")
        self.refused(lines(head(0)) + "{,\n", "line 3", "not JSON")
        self.refused(lines(head(0)) + "7,\n", "line 3", "not an object")
        self.refused(lines(head(0), call(0, 1, 1, 2)), "line 3", "has not been described")
        self.refused(lines(head(0), comm(0, 1), call(0, 1, 3, 2)), "line 4", "dur must be at least 0")
        self.refused(lines(head(0), comm(0, 1), call(0, "1", 1, 2)), "line 4", "args.number must be a whole number")
        self.refused(b"[\n\xff\xfe\n", "line 2", "not JSON")
        self.refused(lines(head(0, wall_ns=10**400)), "line 2", "args.wall_ns must be from -1 to 2^64 - 1")
        self.refused(lines(head(0), comm(0, 1), call(0, 1, 1, 2, bytes=10**400)), "line 4", "args.bytes must be from")
        self.refused(lines(head(0), comm(0, 1), {**call(0, 1, 1, 2), "ts": 10**400}), "line 4", "ts must be a number")
        self.refused(lines(head(0), comm(0, 1), {**call(0, 1, 1, 2), "pid": 9}), "line 4", "process 9 has not been")
        self.refused(lines(head(0), comm(0, 1), {**call(0, 1, 1, 2), "cat": {}}), "line 4", "none of a trace of Rondo")
        self.refused(lines(head(0), comm(0, 0)), "line 3", "args.rank is 0: it must be from 0 to args.size - 1")
        self.refused(lines(head(0), comm(0, 1, "x" * (1 << 21))), "line 3", "more than 1048576 bytes")
        result = self.run_on([self.path("absent")])
        self.assertIn("No such file", result.stderr)
        self.assertIn("not a regular file", self.run_on(["/dev/null"]).stderr)
        paths = [self.write(f"{rank}.json", lines(head(rank), comm(rank, 2 + rank))) for rank in (0, 1)]
        self.assertIn(f"communicator 'dp' has 3 ranks, but 2 in {paths[0]}", self.run_on(paths).stderr)

    def test_a_file_may_not_come_twice_nor_be_replaced(self):
        path = self.write("a", lines(head(0), comm(0, 1)))
        result = self.run_on([path, path])
        self.assertIn("give one file for each process", result.stderr)
        result = self.run_on([path], "-o", path)
        self.assertIn("one of the files to be merged", result.stderr)
        result = self.run_on([path], "-o", self.path("absent/job"))
        self.assertIn("cannot write", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
