# SPDX-License-Identifier: Apache-2.0
"""A table of the ranks of a communicator: what each does now."""
from call_text import arguments_text, numbered
from ranks import ranks_text
from strangers import printable


def table_lines(story):
    rows = [heads(story), *rank_rows(story), *missing_rows(story)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return ["    " + "  ".join([*(f"{cell:>{width}}" for cell, width in zip(row, widths)), row[-1]]).rstrip()
            for row in rows]


def heads(story):
    return ["RANK", *(["HOST"] if story.has_hosts else []), "PID", "CALLS", "BYTES", "CALLS/S", "BYTES/S", "DOES"]


def rank_rows(story):
    for rank, member in story.members.items():
        calls_per_s, bytes_per_s = story.look.rates(member)
        process = story.process_of(member)
        host = [printable(member.process["host"])] if story.has_hosts else []
        yield [str(rank), *host, str(process.pid), f"{member.comm['total_calls']:,}",
               bytes_text(member.comm["total_bytes"]),
               "" if calls_per_s is None else f"{calls_per_s:,.0f}",
               "" if bytes_per_s is None else bytes_text(bytes_per_s),
               f"{doing_text(member)}; {process.state()}"]


def missing_rows(story):
    empty = [""] * (len(heads(story)) - 2)
    for text, ranks in story.missing_groups().items():
        yield [ranks_text(ranks).partition(" ")[2], *empty, text]


def doing_text(member):
    call = member.latest_call()
    if not member.is_in_call():
        return f"{member.place_text()} {member.since_text()}".rstrip()
    algorithm = f" by {printable(call['algorithm'])}" if call["algorithm"] else ""
    bytes_ = f", {bytes_text(call['bytes'])}" if call["type"] else ""
    waits = f", waits for rank {member.comm['waits_for']}" if member.comm["waits_for"] is not None else ""
    return f"in {numbered(call)}{arguments_text(call)}{bytes_}{algorithm} {member.since_text()}{waits}"


def bytes_text(count):
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 10_000 or unit == "TiB":
            return f"{count:,.0f} {unit}" if unit == "B" or count >= 100 else f"{count:,.1f} {unit}"
        count /= 1024
    return ""
