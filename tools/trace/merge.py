# SPDX-License-Identifier: Apache-2.0
"""Merges files into a timeline, and sums them up."""
import os

from event import end_of
from joined import is_call, joined
from strangers import BadFile, printable
from summary import Summary
from timeline import Timeline


def merged(files, path):
    """Writes the merged timeline, if there is a path, and returns the summaries by communicator."""
    if path is None:
        return merge(files, None)
    for file in files:
        if os.path.exists(path) and os.path.samefile(path, file.path):
            raise BadFile(f"{printable(path)}: this is one of the files to be merged")
    try:
        with open(path, "w", encoding="utf-8") as out:
            timeline = Timeline(out, files)
            summaries = merge(files, timeline)
            timeline.close()
    except OSError as error:
        raise BadFile(f"{printable(path)}: cannot write: {error.strerror}") from None
    return summaries


def merge(files, timeline):
    summaries = {}
    for file in files:
        for (ident, rank), comm in file.comms.items():
            summaries.setdefault(ident, Summary(comm)).known.add(rank)

    def each(begin, index, event):
        if timeline is not None:
            timeline.put(index, event, begin)
        if event["cat"] == "message":
            summaries[event["args"]["id"]].add_message(event["name"], end_of(begin, event) - begin)
    for key, group in joined(files, each):
        if timeline is not None:
            timeline.join(key, group)
        if is_call(key):
            summaries[key[0]].add_calls(group)
    return summaries
