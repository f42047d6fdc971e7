# SPDX-License-Identifier: Apache-2.0
"""What the processes of this user say at one moment, and which of them a rank is in."""
import os
import re
from collections import Counter

import proc
from answer import checked, session_of
from asking import JOB_PATIENCE_S, ask_all, names_here
from far_process import far_processes
from member import Member
from members import add
from process import Process
from strangers import BadFile

MAX_SESSIONS = 4  # about which a process is asked at once: it serves 8 clients


class Look:
    def __init__(self, only_here, earlier=None):
        self.answers = ask_all([(name,) for name in names_here()])
        self.processes = {}  # of this host, by process id
        self.far = {}        # of other hosts, by their keys
        self.unasked = {}    # by session: why processes of other hosts were not asked
        self.said = {}       # by process id or key
        self.silent = {}     # by process id: why
        self.earlier = earlier
        self.hidden = sum(answer.pid == 0 for answer in self.answers)  # in other PID namespaces
        for answer in self.answers:
            if answer.pid > 0:
                self.take(answer)
        self.known_inner = None  # the ids of this user's processes, by PID namespace and their own ids
        if not only_here:
            self.ask_other_hosts()

    def spokesmen(self):
        """A process of this host for each session that has ranks on others, by session; one such table for each round,
        as a process of many sessions is asked about few of them at once."""
        members = {}
        for pid, said in sorted(self.said.items()):
            for comm in said["communicators"]:
                session = session_of(comm["id"])
                if not comm["ended"] and 0 < len(comm["here"]) < comm["size"] and re.fullmatch("[0-9a-f]{16}", session):
                    members.setdefault(session, set()).add(pid)
        asked, rounds = Counter(), {}
        for session, pids in members.items():
            pid = min(pids, key=lambda pid: (asked[pid], pid))
            rounds.setdefault(asked[pid] // MAX_SESSIONS, {})[session] = pid
            asked[pid] += 1
        return rounds.values()

    def ask_other_hosts(self):
        names = {answer.pid: answer.name for answer in self.answers}
        for spokesmen in self.spokesmen():
            answers = ask_all([(names[pid], session) for session, pid in spokesmen.items()], JOB_PATIENCE_S)
            told = {answer.session: answer for answer in answers}
            for session, pid in spokesmen.items():
                self.take_told(session, pid, told.get(session))

    def take_told(self, session, pid, answer):
        try:
            if answer is None or answer.data is None:
                raise BadFile("does not answer" if answer is None else answer.why)
            for process in far_processes(answer.data, session):
                self.take_far(process)
        except BadFile as error:
            self.unasked[session] = f"process {pid}, which was to ask them: {error}"

    def take_far(self, process):
        self.far[process.key] = process
        process.compare(self.earlier and self.earlier.far.get(process.key))
        if process.said is not None:
            self.said[process.key] = process.said

    def far_of(self, session):
        return [process for process in self.far.values() if process.session == session]

    def take(self, answer):
        process = self.process(answer.pid)
        try:
            if answer.data is not None:
                self.said[process.pid] = checked(answer.data)
            elif process.letter != "gone":
                self.silent[process.pid] = answer.why
        except BadFile as error:
            self.silent[process.pid] = f"says what is not right: {error}"

    def process(self, pid):
        if pid not in self.processes:
            self.processes[pid] = Process(pid)
            self.processes[pid].compare(self.earlier and self.earlier.processes.get(pid))
        return self.processes[pid]

    def has_session(self, pid, session):
        comms = self.said[pid]["communicators"] if pid in self.said else []
        return any(session_of(comm["id"]) == session for comm in comms)

    def pid_of(self, inner, beside):
        """The id of a process that has the id `inner` in the PID namespace of process `beside`; None: none is there."""
        space = proc.pid_namespace(beside)
        if space in (None, proc.pid_namespace("self")):
            return inner
        if self.known_inner is None:
            ours = filter(proc.is_ours, map(int, filter(str.isdigit, os.listdir("/proc"))))
            self.known_inner = {(proc.pid_namespace(pid), proc.inner_pid(pid)): pid for pid in ours}
        return self.known_inner.get((space, inner))

    def find(self, inner, session, beside):
        """The process, of this host, of a rank of a session whose own id is `inner`; None: it cannot be told. Ids of
        processes in other PID namespaces may be those of others here."""
        alike = [process for process in self.processes.values() if process.inner_pid == inner]
        of_session = [process for process in alike if self.has_session(process.pid, session)]
        if of_session:
            return of_session[0]
        pid = self.pid_of(inner, beside)
        if pid is not None and (pid not in self.said or pid == inner):
            return self.processes.get(pid) or Process(pid)
        return next((process for process in alike if process.pid in self.silent), None)

    def members(self):
        """Those of each communicator, by its id and their rank; not of communicators that have ended everywhere."""
        comms = {}
        for key, said in self.said.items():
            for comm in said["communicators"]:
                try:
                    add(comms, Member(str(key), said, comm))
                except BadFile as error:
                    if key in self.far:
                        self.far[key].doubt(error)
                    else:
                        self.silent[key] = f"contradicts others: {error}"
        return {ident: members for ident, members in comms.items()
                if not all(member.comm["ended"] for member in members.values())}

    def rates(self, member):
        """Calls and bytes a second since the earlier look; None: unknown."""
        before = self.earlier.said.get(key_of(member)) if self.earlier else None
        for comm in before["communicators"] if before else []:
            seconds = (member.process["written_ns"] - before["written_ns"]) / 1e9
            if (comm["id"], comm["rank"]) == (member.comm["id"], member.comm["rank"]) and seconds > 0:
                return [max(0, member.comm[key] - comm[key]) / seconds for key in ("total_calls", "total_bytes")]
        return [None, None]


def key_of(member):
    """Of its process in a Look."""
    return int(member.path) if member.path.isdigit() else member.path
