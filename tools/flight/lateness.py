# SPDX-License-Identifier: Apache-2.0
"""What a rank did that did not come to a call."""
from strangers import printable, quoted


def late_text(member, top_text, name):
    """What a rank did instead of the latest call; the rank's number precedes it."""
    comm = member.comm
    if comm["activity"] in ("finalizing", "finalized"):
        return f"called rondo_finalize() of {name} instead of {top_text}"
    never = f"never came to {top_text} of {name}: "
    if member.is_in_call():
        return f"{never}still in {member.latest_text()} {member.since_text()}"
    last = f"last in {member.latest_text()}" if comm["latest"] else "no call yet"
    call = member.latest_call()
    ended = f", which ended {member.time_since(call['ended_ns'])} before" if call and call["ended_ns"] else ""
    return f"{never}{last}{ended}{elsewhere_text(member)}"


def elsewhere_text(member):
    """What the process does in other communicators."""
    for comm in member.process["communicators"]:
        if comm["ended"] or comm["id"] == member.comm["id"]:
            continue
        other = member._replace(comm=comm)
        if comm["activity"] == "in a call" and comm["latest"]:
            return f"; now in {other.latest_text()} of {quoted(comm['name'])} {other.since_text()}".rstrip()
        if comm["activity"] == "in messages":
            return f"; now in {printable(comm['messages'] or 'messages')} of {quoted(comm['name'])}"
    return ""
