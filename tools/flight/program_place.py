# SPDX-License-Identifier: Apache-2.0
"""Words for where the program of a rank is, as its threads' functions say."""
import os
import re

from source_lines import source_lines
from strangers import printable


def thread_of(member):
    """The thread that made the communicator, or the main thread; None: the file has none."""
    threads = member.process.get("threads", [])
    made = [thread for thread in threads if thread["thread"] == member.comm.get("thread")]
    return next(iter(made + threads), None)


def program_text(member):
    """'is in step() (train.c:214), called from main() (train.c:220)'; empty: unknown."""
    thread = thread_of(member)
    if thread is None:
        return ""
    text = thread["place"]
    if not thread["python"]:
        frames = [frame for frame in thread["native"] if frame["module"] is not None]
        for frame, line in zip(frames, source_lines(frames)):
            if line:
                shown = f"{os.path.basename(frame['module'])}+{frame['offset']:#x}"
                text = re.sub(rf"(?<![\w+.-]){re.escape(shown)}(?![\w])", lambda _, at=line: os.path.basename(at), text)
    note = member.process.get("threads_note")
    return printable(text + (f"; {note}" if text and note and not thread["python"] else ""))


def stack_lines(member):
    """All functions in which the threads of a process are, the innermost first."""
    for thread in member.process.get("threads", []):
        yield f"thread {thread['thread']} ({printable(thread['name'])}), which {'runs' if thread['runs'] else 'waits'}"
        for frame in thread["python"]:
            yield f"    {printable(frame['file'])}:{frame['line']} ({printable(frame['function'])})"
        for frame, line in zip(thread["native"], source_lines(thread["native"])):
            at = line or f"{frame['module'] or 'code'}+{frame['offset']:#x}"
            yield f"    {printable(at)}" + (f" ({printable(frame['function'])})" if frame["function"] else "")
