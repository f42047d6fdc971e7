# SPDX-License-Identifier: Apache-2.0
"""The files of a job."""
from member import Member
from members import add
from process_file import read
from strangers import BadFile, printable


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
