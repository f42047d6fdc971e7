# SPDX-License-Identifier: Apache-2.0
"""The merged timeline, a file of which processes are numbered by rank."""
import hashlib
import json

from event import end_of
from joined import is_call

as_text = json.JSONEncoder(separators=(",", ":")).encode


class Timeline:
    def __init__(self, file, files):
        self.file = file
        self.origin = min((one.begins[0] + one.base() for one in files if one.begins), default=0)
        numbers = sorted({(event["pid"], index) for index, one in enumerate(files) for event in one.metadata})
        self.pids = {(index, pid): at for at, (pid, index) in enumerate(numbers)}
        self.file.write("[\n")
        self.separator = ""
        for index, one in enumerate(files):
            for event in one.metadata:
                if event["name"] == "process_sort_index":
                    event = {**event, "args": {"sort_index": self.pids[index, event["pid"]]}}
                self.put(index, event)
            for at, event in one.remarks:
                self.put(index, event, at + one.base())

    def put(self, index, event, begin=None):
        event = {**event, "pid": self.pids.get((index, event["pid"]), event["pid"])}
        if begin is not None:
            event["ts"] = self.time_of(begin)
        self.line(event)

    def time_of(self, ns):
        return (ns - self.origin) / 1000

    def line(self, event):
        self.file.write(self.separator + as_text(event))
        self.separator = ",\n"

    def join(self, key, group):
        """An arrow through the slices, from the first that began to the last."""
        if len(group) < 2:
            return
        ident = hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()
        if not is_call(key):
            group = sorted(group, key=lambda one: one[2]["name"] != "send")
        for at, (begin, index, event) in enumerate(group):
            phase = "s" if at == 0 else "f" if at == len(group) - 1 else "t"
            # An arrow to a receive points at its end: it may have begun before the send.
            to = begin if is_call(key) or phase != "f" else end_of(begin, event)
            self.line({"name": "call" if is_call(key) else "message", "cat": "flow", "ph": phase, "id": ident,
                       "pid": self.pids[index, event["pid"]], "tid": event["tid"], "ts": self.time_of(to),
                       **({"bp": "e"} if phase == "f" else {})})

    def close(self):
        self.file.write("\n]\n")
