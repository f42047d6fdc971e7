# SPDX-License-Identifier: Apache-2.0
"""One rank's part in a communicator, as one file has it: where it is in its calls, and since when."""
import re
from collections import namedtuple

from call_text import numbered
from strangers import printable

TIMES = re.compile(r"[\d,]+\.\d s|[\d,]+ min")  # as time_since() writes them


class Member(namedtuple("Member", "path process comm")):
    def latest_call(self):
        """None: the file does not have it."""
        return next((call for call in reversed(self.comm["calls"]) if call["number"] == self.comm["latest"]), None)

    def latest_text(self):
        call, latest = self.latest_call(), self.comm["latest"]
        return numbered(call) if call else f"call {latest:,}" if latest else "its start"

    def is_in_call(self):
        call = self.latest_call()
        return self.comm["activity"] == "in a call" and call is not None and call["ended_ns"] is None

    def place_text(self, are_many=False):
        """Where a rank is in its communicator; or where ranks are that are all there."""
        comm = self.comm
        call = self.latest_call()
        has, waits = ("have", "wait") if are_many else ("has", "waits")
        if comm["activity"] in ("finalizing", "finalized"):
            return f"{waits + ' in' if comm['activity'] == 'finalizing' else has + ' called'} rondo_finalize()" + (
                f" after {self.latest_text()}" if comm["latest"] else "")
        if self.is_in_call():
            for_rank = "" if comm["waits_for"] is None else f", {waits} for rank {comm['waits_for']}"
            return f"in {numbered(call)}{for_rank}"
        if comm["messages"] is not None:
            return f"{waits} in {printable(comm['messages'])}"
        if not comm["latest"]:
            return f"{has} made no call"
        if call and call["state"] == "on stream":
            return f"{has} put {self.latest_text()} on a stream"
        return f"{'are' if are_many else 'is'} done with {self.latest_text()}"

    def since_text(self):
        call = self.latest_call()
        since_ns = call and (call["began_ns"] if self.is_in_call() else call["ended_ns"])
        return "" if since_ns is None else f"for {self.time_since(since_ns)}"

    def time_since(self, since_ns):
        """How long before its process wrote the file; clocks of other hosts may differ."""
        seconds = max(0, self.process["written_ns"] - since_ns) / 1e9
        return f"{seconds:,.1f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"

    def waited_ns(self):
        call = self.latest_call()
        return self.process["written_ns"] - ((call["ended_ns"] or call["began_ns"]) if call else 0)
