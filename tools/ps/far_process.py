# SPDX-License-Identifier: Apache-2.0
"""Processes of other hosts, as a process of this host that asked them says (runtime/bootstrap/job_inquiry.h)."""
from answer import absence_text, checked, session_of
from fields import check, has_type, shortened
from process import cpu_text
from strangers import BadFile, printable
from strict_json import parsed

# First a line about all, then a line about each, with what it said.
INQUIRY = {"format": ("rondo-ps-job",), "version": (1,), "session": str, "processes": int}
ASKED = {"ranks": list, "host": str, "address": [str], "host_id": str, "pid": int, "process": str, "bytes": int,
         "found": ("answered", "silent", "unreachable", "off", "gone"), "problem": [str]}


class FarProcess:
    """A process of a session on another host, as the one that asked it says."""
    command = None

    def __init__(self, session, line):
        self.session = session
        self.line = line
        self.key = f"{line['pid']}@{line['process']}/{session}"
        self.pid = line["pid"]
        self.ranks = line["ranks"]
        self.host = printable(line["host"])
        self.found = line["found"]
        self.problem = line["problem"] and printable(line["problem"])
        self.said = None
        self.cpu = None

    def take(self, data):
        """What it said: it speaks for no other job."""
        try:
            said = checked(data)
            said["communicators"] = [comm for comm in said["communicators"]
                                     if session_of(comm["id"]) == self.session]
            self.said = said
        except BadFile as error:
            self.doubt(error)

    def doubt(self, why):
        self.found, self.problem, self.said = "wrong", str(why), None

    def compare(self, earlier):
        if earlier is None or self.said is None or earlier.said is None:
            return
        seconds = (self.said["written_ns"] - earlier.said["written_ns"]) / 1e9
        if seconds > 0 and "cpu_ns" in self.said and "cpu_ns" in earlier.said:
            self.cpu = max(0, self.said["cpu_ns"] - earlier.said["cpu_ns"]) / 1e9 / seconds

    def text(self):
        return f"process {self.pid} on host {self.host}"

    def state(self):
        if self.said is None:
            return {"silent": "did not answer", "unreachable": "cannot be reached", "off": "does not answer rondo-ps",
                    "gone": "is gone", "wrong": "says what is not right"}[self.found]
        if self.cpu is None:
            return "answers"
        return f"uses {cpu_text(self.cpu) or 'no CPU'}"

    def trouble(self):
        """Why there is nothing of one of its ranks."""
        if self.found == "unreachable":
            return f"on host {self.host}, which cannot be reached"
        if self.found == "off":
            return f"{self.text()} does not answer rondo-ps (RONDO_PS=0)"
        if self.found == "gone":
            return f"{self.text()}: {self.problem}"
        return f"{self.text()} {absence_text(self.said) if self.said else self.state_and_problem()}"

    def state_and_problem(self):
        return self.state() + (f": {self.problem}" if self.problem else "")

    def as_json(self, _why=None):
        return {"pid": self.pid, "host": self.line["host"], "command": None, "state": self.state(), "cpu": self.cpu,
                "problem": None if self.said else self.state_and_problem(), "address": self.line["address"],
                "ranks": self.ranks}


def far_processes(data, session):
    """What a process says of those of a session on other hosts."""
    def next_line(at, fields, where):
        end = data.find(b"\n", at) + 1
        line = parsed(data[at:end])
        check(line, fields, where)
        return line, end

    head, at = next_line(0, INQUIRY, "the answer")
    if head["session"] != session:
        raise BadFile(f"it is about session {shortened(head['session'])}")
    processes = []
    for i in range(head["processes"]):
        line, at = next_line(at, ASKED, f"processes[{i}]")
        if not all(has_type(rank, int) for rank in line["ranks"]):
            raise BadFile(f"processes[{i}].ranks is {shortened(line['ranks'])}: they must be numbers")
        if line["bytes"] < 0:
            raise BadFile(f"processes[{i}].bytes is {line['bytes']}: it must be at least 0")
        process = FarProcess(session, line)
        if process.found == "answered":
            process.take(data[at:at + line["bytes"]])
        processes.append(process)
        at += line["bytes"]
    return processes
