# SPDX-License-Identifier: Apache-2.0
"""Ranks for tests that are threads of this process: run(3, lambda comm: comm.barrier()). They need the GIL to be
released by every call that waits."""
import threading
import traceback

import users  # which skips these tests where they cannot run
import rondo


def run(size, body, **config):
    """Calls body(comm) on every rank, and returns the list of what it returns. Any failure ends all ranks."""
    results, failures = [None] * size, []

    def rank(comm):
        try:
            with comm:
                results[comm.rank] = body(comm)
        except BaseException as error:
            failures.append((isinstance(error, rondo.Aborted), f"rank {comm.rank}: {traceback.format_exc()}"))

    threads = [threading.Thread(target=rank, args=(comm,)) for comm in rondo.init_all(size, timeout=20, **config)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:  # those that were aborted are the least telling
        raise AssertionError("\n".join(text for _, text in sorted(failures)))
    return results
