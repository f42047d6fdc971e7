# SPDX-License-Identifier: Apache-2.0
"""A job: ranks that started together, and their communicators."""
from answer import session_of
from live_story import LiveStory
from look import key_of
from ranks import ranks_text


class Job:
    """The communicators that ranks which started together have made of one another."""

    def __init__(self, ident, stories):
        self.ident = ident
        self.stories = sorted(stories, key=lambda story: (
            not story.is_stuck(), not story.failure, not story.mismatch, not story.late,
            -max(member.comm["total_calls"] for member in story.members.values()), story.ident))
        self.look = stories[0].look
        keys = {key_of(member) for story in stories for member in story.members.values()}
        self.pids = sorted({key for key in keys if key in self.look.processes} |
                           {process.pid for story in stories for rank in story.pids if rank in story.missing
                            for process in [story.process_of_rank(rank)]
                            if process and process.pid in self.look.processes})
        self.far = sorted(self.look.far_of(ident), key=lambda process: process.ranks)
        self.processes = [self.look.processes[pid] for pid in self.pids] + self.far
        self.keys = {*self.pids, *(process.key for process in self.far)}

    def omitted(self):
        """The number of communicators of which a process says nothing; the most of any process."""
        return max(self.look.said[key]["omitted"] for key in self.keys if key in self.look.said)

    def hosts(self):
        """How many it has, as far as it is known."""
        return len({process.line["host_id"] for process in self.far}) + (1 if self.pids else 0)

    def host_sentences(self):
        """About hosts that cannot be reached, and processes there."""
        hosts = {}
        for process in self.far:
            hosts.setdefault(process.line["host_id"], []).append(process)
        for processes in hosts.values():
            lost = [process for process in processes if process.found == "unreachable"]
            if lost:
                ranks = [rank for process in lost for rank in process.ranks]
                why = next((process.problem for process in lost if process.problem), None)
                yield f"host {lost[0].host} with {ranks_text(ranks)} of the job cannot be reached" + (
                    f": {why}" if why else "")
        if self.ident in self.look.unasked:
            yield f"other hosts were not asked: {self.look.unasked[self.ident]}"


def jobs_of(look):
    by_session = {}
    for ident, members in look.members().items():
        by_session.setdefault(session_of(ident), []).append(LiveStory(ident, members, look))
    jobs = [Job(ident, stories) for ident, stories in by_session.items()]
    return sorted(jobs, key=lambda job: (job.pids, job.ident))
