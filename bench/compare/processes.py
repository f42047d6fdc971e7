# SPDX-License-Identifier: Apache-2.0
"""Runs a program until it exits or times out, and ends everything that it has started."""
import os
import re
import shlex
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Optional

GRACE_SECONDS = 5
LINES_OF_FAULT = 12


@dataclass
class Outcome:
    printed: str  # on standard output
    fault: Optional[str] = None  # one line on what went wrong, the command, and its last lines of output
    code: Optional[int] = 0  # None: it took too long


def run(command, variables=None, timeout=None):
    # Files, not pipes: a surviving process that inherited a pipe would keep us waiting for end of file.
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                   env=dict(os.environ, **(variables or {})), start_new_session=True)
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end(process)
        output.seek(0)
        errors.seek(0)
        printed, complaints = output.read(), errors.read()
    return Outcome(printed, None if code == 0 else fault(command, code, timeout, printed, complaints), code)


def fault(command, code, timeout, printed, complaints):
    said = next((line for line in complaints.splitlines() if re.search(r"\w", line)), "no output")
    what = f"took more than {timeout:g} s" if code is None else f"ended with {code}: {said}"
    lines = (printed + complaints).splitlines()[-LINES_OF_FAULT:]
    return "\n  ".join([f"{os.path.basename(command[0])} {what}", shlex.join(command), *lines])


def end(process):
    """Asks the launcher to end its ranks, then kills whatever is left of the session."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
