# SPDX-License-Identifier: Apache-2.0
"""The members of each communicator, by its id and their rank: of several files, which must belong together."""
from strangers import BadFile, printable, quoted


def add(comms, member):
    """A member has the path of its file, and its comm: id, name, rank and size."""
    comm = member.comm
    members = comms.setdefault(comm["id"], {})
    if comm["rank"] in members:
        raise BadFile(f"rank {comm['rank']} of communicator {quoted(comm['name'])} is also in "
                      f"{printable(members[comm['rank']].path)}: give one file for each process")
    first = next(iter(members.values()), member)
    if first.comm["size"] != comm["size"]:
        raise BadFile(f"communicator {quoted(comm['name'])} has {comm['size']} ranks, but "
                      f"{first.comm['size']} in {printable(first.path)}")
    members[comm["rank"]] = member
