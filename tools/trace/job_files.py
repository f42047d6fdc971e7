# SPDX-License-Identifier: Apache-2.0
"""The files of a job, which must belong together."""
from program import open_many_files
from strangers import BadFile, printable, quoted
from trace_file import TraceFile


def read_all(paths):
    open_many_files()  # each mapped file has a descriptor
    files, members, sizes = [], {}, {}
    for path in paths:
        try:
            file = TraceFile(path)
            for (ident, rank), comm in file.comms.items():
                name = quoted(comm["communicator"])
                if (ident, rank) in members:
                    raise BadFile(f"rank {rank} of communicator {name} is also in {printable(members[ident, rank])}: "
                                  "give one file for each process")
                members[ident, rank] = path
                size, where = sizes.setdefault(ident, (comm["size"], path))
                if size != comm["size"]:
                    raise BadFile(f"communicator {name} has {comm['size']} ranks, but {size} in {printable(where)}")
        except BadFile as error:
            raise BadFile(f"{printable(path)}: {error}") from None
        files.append(file)
    return sorted(files, key=lambda file: file.head["rank"])
