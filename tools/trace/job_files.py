# SPDX-License-Identifier: Apache-2.0
"""The files of a job."""
from collections import namedtuple

from members import add
from program import open_many_files
from strangers import BadFile, printable
from trace_file import TraceFile

Member = namedtuple("Member", "path comm")


def read_all(paths):
    open_many_files()  # each mapped file has a descriptor
    files, comms = [], {}
    for path in paths:
        try:
            files.append(TraceFile(path))
            for comm in files[-1].comms.values():
                add(comms, Member(path, {**comm, "name": comm["communicator"]}))
        except BadFile as error:
            raise BadFile(f"{printable(path)}: {error}") from None
    return sorted(files, key=lambda file: file.head["rank"])
