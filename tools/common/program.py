# SPDX-License-Identifier: Apache-2.0
"""How programs in Python run and end."""
import os
import resource
import sys

from strangers import BadFile

INTERRUPTED = 130  # the exit status after SIGINT


def open_many_files():
    """Lets this process have as many descriptors as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard > soft else soft, hard))


def run(program, name, interrupted=INTERRUPTED):
    """Ends this process with the exit status of a program that writes to standard output, which may be full."""
    sys.stdout.reconfigure(errors="backslashreplace")  # a name may have letters that the terminal lacks
    try:
        code = program()
        sys.stdout.flush()
    except BadFile as error:
        print(f"{name}: {error}", file=sys.stderr)
        code = 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print(f"{name}: cannot write standard output: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except KeyboardInterrupt:
        code = interrupted
    sys.exit(code)
