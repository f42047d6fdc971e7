# SPDX-License-Identifier: Apache-2.0
"""A summary as text."""
from strangers import printable, quoted


def say(summary):
    print(f"communicator {quoted(summary.name)}, {summary.size:,} rank{'s' if summary.size != 1 else ''}, "
          f"{printable(summary.transports)}")
    say_table(["", "calls", "total s", "median us", "MB/s"], call_rows(summary))
    incomplete = sum(one.incomplete for one in summary.collectives.values())
    if incomplete:
        calls = "1 call" if incomplete == 1 else f"{incomplete:,} calls"
        print(f"  of {calls} some ranks' part is missing{absent_text(summary)}")
    if summary.size > 1 and summary.ranks:
        say_table(["", "waited", "came last", "late on average us", "at most us"], rank_rows(summary))


def call_rows(summary):
    def row(name, calls, times, rate):
        return [name, f"{calls:,}", f"{times.total / 1e9:,.3f}", f"{times.median() / 1e3:,.1f}", rate]
    for name, one in sorted(summary.collectives.items()):
        rate = f"{one.bytes * 1e3 / one.busy_ns:,.1f}" if one.busy_ns and one.bytes else "-"
        yield row(printable(name), one.calls, one.times, rate)
    for name, times in summary.messages.items():
        if times.count:
            yield row(name, times.count, times, "-")


def rank_rows(summary):
    for rank, one in sorted(summary.ranks.items()):
        late = [f"{one.late_ns / one.last / 1e3:,.1f}", f"{one.most_late_ns / 1e3:,.1f}"] if one.last else ["-", "-"]
        yield [f"rank {rank}", "-" if one.share() is None else f"{one.share():.0%}", f"{one.last:,}", *late]


def absent_text(summary):
    bounds = [-1, *sorted(summary.known), summary.size]
    runs = [(a + 1, b - 1) for a, b in zip(bounds, bounds[1:]) if a + 1 < b]
    ranks = ", ".join(str(a) if a == b else f"{a} to {b}" for a, b in runs)
    if not runs:
        return ""
    return f": rank {ranks} is in no file" if ranks.isdigit() else f": ranks {ranks} are in no file"


def say_table(heads, rows):
    rows = [heads, *rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for name, *cells in rows:
        print("  " + "  ".join([name.ljust(widths[0]), *map(str.rjust, cells, widths[1:])]).rstrip())
