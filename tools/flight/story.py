# SPDX-License-Identifier: Apache-2.0
"""What files say about one communicator."""
from lateness import late_text
from member import TIMES
from mismatch import first_mismatch, mismatch_text
from program_place import program_text
from ranks import OtherRanks, ranks_text
from strangers import printable, quoted

MAX_SENTENCES = 8  # about late ranks of a communicator


def limited(sentences, more):
    left = len(sentences) - MAX_SENTENCES
    return sentences if left <= 0 else [*sentences[:MAX_SENTENCES], more.format(left)]


class Story:
    CALM = "no failure"

    def __init__(self, ident, members):
        self.ident = ident
        self.members = dict(sorted(members.items()))
        first = next(iter(self.members.values()))
        self.name = first.comm["name"]
        self.size = first.comm["size"]
        self.missing = OtherRanks(members, self.size)
        top = max(members.values(), key=lambda member: member.comm["latest"])
        self.top = top.comm["latest"]
        self.top_text = top.latest_text()
        self.late = [rank for rank, member in self.members.items() if member.comm["latest"] < self.top]
        self.mismatch = first_mismatch(self.members)
        # The shortest text is the cause as the rank that found it words it.
        failures = [member.comm["failure"] for member in self.members.values() if member.comm["failure"]]
        self.failure = min(failures, key=lambda failure: len(failure["text"]), default=None)
        self.waiting = [rank for rank, member in self.members.items() if member.is_in_call()]

    def is_stuck(self):
        return bool(self.failure or self.mismatch or self.waiting or
                    any(member.comm["messages"] for member in self.members.values()))

    def title(self):
        ranks = "1 rank" if self.size == 1 else f"{self.size:,} ranks"
        verdict = "failed" if self.failure else "waits" if self.is_stuck() else self.CALM
        return f"communicator {quoted(self.name)}, {ranks}, at {self.top_text}: {verdict}"

    def sentences(self):
        """The story, the cause first."""
        name = quoted(self.name)
        said = [mismatch_text(*self.mismatch)] if self.mismatch else []
        if self.is_stuck():
            said += self.late_sentences(name)
            said += self.missing_sentences(name)
        if self.failure:
            said.append(f"the failure: {self.failure['status']}: {printable(self.failure['text'])}")
        return said

    def late_sentences(self, name):
        groups = {}
        for rank in self.late:
            member = self.members[rank]
            text = late_text(member, self.top_text, name) + self.process_text(member)
            groups.setdefault(TIMES.sub("", text), []).append((member.waited_ns(), rank, text))
        # Those that differ in times only share a sentence, with the longest.
        return limited([f"{ranks_text([rank for _, rank, _ in group])} {max(group)[2]}" for group in groups.values()],
                       "{:,} more groups of ranks never came either")

    def missing_sentences(self, name):
        they = "it" if len(self.missing) == 1 else "they"
        return [f"{ranks_text(self.missing)} of {name} left no file: ended, killed or stopped before {they} could, or "
                "not among these files"] if self.missing else []

    def process_text(self, _member):
        """What else is known of the process of a rank that is late."""
        return ""

    def places(self):
        """Lines about where ranks are; those in the same place share one, with the longest time there."""
        groups = {}
        for rank, member in self.members.items():
            groups.setdefault(member.place_text(), []).append(rank)
        lines = []
        for ranks in groups.values():
            longest = max((self.members[rank] for rank in ranks), key=lambda member: member.waited_ns())
            place = longest.place_text(len(ranks) > 1)
            lines.append((ranks_text(ranks), f"{place} {longest.since_text()}".rstrip()))
        if self.missing:
            lines.append((ranks_text(self.missing), "no file"))
        return lines

    def programs(self):
        """Sentences about where the programs of ranks are, the late ranks first."""
        groups = {}
        for rank in sorted(self.members, key=lambda rank: rank not in self.late):
            groups.setdefault(program_text(self.members[rank]), []).append(rank)
        groups.pop("", None)
        return limited([f"the program of {ranks_text(ranks)} {text}" for text, ranks in groups.items()],
                       "the programs of other ranks are in {:,} more places")

    def as_json(self):
        number, kinds = self.mismatch or (None, [])
        return {"name": self.name, "id": self.ident, "size": self.size, "latest": self.top,
                "story": self.sentences(), "late_ranks": self.late, "missing_ranks": list(self.missing),
                "waiting_ranks": self.waiting, "failure": self.failure,
                "mismatch": self.mismatch and
                {"number": number, "calls": [{"ranks": ranks, "call": call} for ranks, call in kinds]},
                "ranks": [self.rank_as_json(rank) for rank in self.members]}

    def rank_as_json(self, rank):
        member = self.members[rank]
        comm = member.comm
        return {"rank": rank, "host": member.process["host"], "pid": member.process["pid"], "file": member.path,
                "latest": comm["latest"], "activity": comm["activity"], "waits_for": comm["waits_for"],
                "messages": comm["messages"], "place": member.place_text(), "ended": comm["ended"],
                "program": program_text(member) or None, "latest_call": member.latest_call()}
