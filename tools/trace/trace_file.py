# SPDX-License-Identifier: Apache-2.0
"""What a process left: the places of its slices, by their begins."""
import json
import mmap
import os
import stat
from array import array

from event import EVENT, check, check_comm, check_head, check_slice, ns_of, parsed
from strangers import MAX_NUMBER, BadFile, printable

MAX_LINE = 1 << 20
MAX_NOTES, MAX_NOTE = 100, 200  # of a file; characters of one


def mapped(path):
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadFile("this is not a regular file, which can be read twice")
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if status.st_size else b""
    except (OSError, ValueError) as error:
        raise BadFile(getattr(error, "strerror", None) or str(error)) from None


class TraceFile:
    def __init__(self, path):
        self.path = path
        self.notes = []
        self.metadata = []
        self.processes = set()  # their numbers in the timeline
        self.remarks = []
        self.dropped = 0
        self.comms = {}
        self.begins = array("q")
        self.places = array("q")
        self.shift = 0  # of its clock, in nanoseconds
        self.head = None
        self.data = mapped(path)
        self.load()

    def load(self):
        if not len(self.data):
            raise BadFile("the file is empty")
        if self.data[:2] != b"[\n":
            raise BadFile("line 1: this is not a trace of Rondo, which begins with [ and a new line")
        place, number = 2, 2
        while place < len(self.data):
            end = self.data.find(b"\n", place)
            if end < 0:
                self.notes.append(f"line {number} is cut off: the process still runs, was killed, or the disk was full")
                break
            try:
                if end - place > MAX_LINE:
                    raise BadFile(f"it has more than {MAX_LINE} bytes, as no line of Rondo has")
                self.take(place, parsed(self.data[place:end]))
            except BadFile as error:
                raise BadFile(f"line {number}: {error}") from None
            place, number = end + 1, number + 1
        if self.head is None:
            raise BadFile("line 2: the file is cut off before its head")
        order = sorted(range(len(self.begins)), key=self.begins.__getitem__)
        self.begins = array("q", (self.begins[at] for at in order))
        self.places = array("q", (self.places[at] for at in order))

    def take(self, place, event):
        if self.head is None:
            self.head = check_head(event)
            return
        check(event, EVENT, "the event")
        if event["ph"] == "M":
            self.take_metadata(event)
        elif event["ph"] == "i":
            self.take_remark(event)
        elif event["ph"] == "X" and event.get("cat") in ("call", "message"):
            self.begins.append(check_slice(event, self.comms, self.processes))
            self.places.append(place)
        else:
            raise BadFile("the event is none of a trace of Rondo")

    def take_metadata(self, event):
        if event["name"] == "rondo-communicator":
            args = event.get("args")
            check_comm(args)
            self.comms[args["id"], args["rank"]] = args
        self.metadata.append(event)
        self.processes.add(event["pid"])

    def take_remark(self, event):
        self.remarks.append((ns_of(event, "ts"), event))
        args = event.get("args")
        dropped = args.get("dropped") if isinstance(args, dict) else None
        if type(dropped) is int and 0 <= dropped <= MAX_NUMBER:  # pylint: disable=unidiomatic-typecheck
            self.dropped += dropped
        elif len(self.notes) < MAX_NOTES:
            note = f"{event['name']}: {json.dumps(args)}"
            self.notes.append(printable(note if len(note) <= MAX_NOTE else note[:MAX_NOTE - 3] + "..."))

    def all_notes(self):
        return self.notes + ([f"{self.dropped:,} records were dropped, as they came faster than they could be written"]
                             if self.dropped else [])

    def base(self):
        """Nanoseconds to be added to its times: they are then of its host's monotonic clock, corrected."""
        return self.head["monotonic_ns"] + self.shift

    def slices(self):
        """In order of their begins."""
        for begin, place in zip(self.begins, self.places):
            yield begin + self.base(), parsed(self.data[place:self.data.find(b"\n", place)])
