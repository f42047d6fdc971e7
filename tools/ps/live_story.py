# SPDX-License-Identifier: Apache-2.0
"""What running processes say about one communicator."""
import proc
from answer import absence_text, session_of
from look import key_of
from ranks import OtherRanks, ranks_text
from story import MAX_SENTENCES, Story

SLOW_S = 1.0  # a communicator with a call that lasts this long is stuck


def rank_in(runs, session_rank):
    """The rank in a communicator of a rank of its session; None: it is no member."""
    before = 0
    for first, step, count in runs:
        at, beside = divmod(session_rank - first, step)
        if beside == 0 and 0 <= at < count:
            return before + at
        before += count
    return None


class LiveStory(Story):
    CALM = "no rank waits long"

    def __init__(self, ident, members, look):
        super().__init__(ident, members)
        self.look = look
        self.session = session_of(ident)
        # Every rank that answered knows where the others of its host are.
        self.pids, self.known_by = {}, {}
        for member in members.values():
            for rank, pid in member.comm["here"] if key_of(member) in look.processes else ():
                self.pids[rank], self.known_by[rank] = pid, key_of(member)
        self.far = self.far_ranks()
        self.has_hosts = any(key_of(member) in look.far for member in members.values())

    def far_ranks(self):
        """The processes of ranks on other hosts of which nothing is known otherwise."""
        comms = [member.comm for member in self.members.values()]
        runs = next((comm["session_ranks"] for comm in comms if comm["session_ranks"]), [])
        found = {}
        for process in self.look.far_of(self.session):
            for session_rank in process.ranks:
                rank = rank_in(runs, session_rank)
                if rank is not None and rank in self.missing and rank not in self.pids:
                    found[rank] = process
        return found

    def is_stuck(self):
        return bool(self.failure or self.mismatch or any(
            member.comm["messages"] or (member.is_in_call() and member.waited_ns() >= SLOW_S * 1e9)
            for member in self.members.values()))

    def process_of(self, member):
        key = key_of(member)
        return self.look.processes[key] if key in self.look.processes else self.look.far[key]

    def process_text(self, member):
        process = self.process_of(member)
        return f"; its {process.text()} {process.state()}"

    def process_of_rank(self, rank):
        """Of a rank on this host; None: it cannot be told."""
        return self.look.find(self.pids[rank], self.session, self.known_by[rank])

    def missing_text(self, rank):
        process = self.process_of_rank(rank)
        if process is None:
            return f"process {self.pids[rank]} of its PID namespace has ended, or is not visible here"
        if process.pid in self.look.silent:
            return f"process {process.pid} {self.look.silent[process.pid]}: it {process.state()}"
        if process.pid in self.look.said:
            return f"process {process.pid} {absence_text(self.look.said[process.pid])}"
        if process.letter == "gone" or not proc.is_ours(process.pid):
            return f"process {self.pids[rank]} has ended"
        return f"process {process.pid} has no socket for rondo-ps: it {process.state()}"

    def missing_groups(self):
        groups = {}
        for rank in sorted(self.pids):
            if rank in self.missing:
                groups.setdefault(self.missing_text(rank), []).append(rank)
        for rank, process in sorted(self.far.items()):
            groups.setdefault(process.trouble(), []).append(rank)
        known = {*self.members, *self.far, *(rank for rank in self.pids if rank in self.missing)}
        elsewhere = OtherRanks(known, self.size)
        if elsewhere:
            groups["on other hosts"] = elsewhere
        return groups

    def missing_sentences(self, name):
        said = []
        for text, ranks in list(self.missing_groups().items())[:MAX_SENTENCES]:
            waiting = [rank for rank, member in self.members.items()
                       if member.is_in_call() and member.comm["waits_for"] in ranks]
            for_them = "" if not waiting else f"; {ranks_text(waiting)} " + (
                "waits for it" if len(waiting) == 1 else "wait for it" if len(ranks) == 1 else "wait for them")
            said.append(f"{ranks_text(ranks)} of {name}: {text}{for_them}")
        return said

    def rank_as_json(self, rank):
        member = self.members[rank]
        call = member.latest_call()
        one = super().rank_as_json(rank)
        del one["file"]
        calls_per_s, bytes_per_s = self.look.rates(member)
        return {**one, "pid": self.process_of(member).pid, "state": self.process_of(member).state(),
                "transports": member.comm["transports"], "calls": member.comm["total_calls"],
                "bytes": member.comm["total_bytes"], "calls_per_s": calls_per_s, "bytes_per_s": bytes_per_s,
                "in_call": member.is_in_call(),
                "for_s": call and max(0, member.waited_ns()) / 1e9}

    def as_json(self):
        return {**super().as_json(), "stuck": self.is_stuck()}
