# SPDX-License-Identifier: Apache-2.0
"""The members of each communicator, by its id and their rank: of all files, which must belong together."""
from member import Member
from process_file import read
from strangers import BadFile, printable, quoted


def members_of(paths):
    comms = {}
    for path in paths:
        try:
            process = read(path)
            for comm in process["communicators"]:
                add(comms, Member(path, process, comm))
        except BadFile as error:
            raise BadFile(f"{printable(path)}: {error}") from None
    return comms


def add(comms, member):
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
