# SPDX-License-Identifier: Apache-2.0
"""Groups that meet through a store with old entries: torchrun restarts killed workers over the same store, and programs
destroy their group and create another. RONDO_TEST_RESTARTS: number of restarts per torchrun (default 2)."""
import contextlib
import datetime
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import torch
import torch.distributed as dist

from ports import free_port
from world import FORK, run

SIZE = 3
WORKER = textwrap.dedent("""
    import os, signal
    import torch, torch.distributed as dist
    attempt, restarts = (int(os.environ["TORCHELASTIC_" + name]) for name in ("RESTART_COUNT", "MAX_RESTARTS"))
    # A rank dies in its group, or before it has joined one; then rank 0 has waited for the others in vain.
    dies = attempt < restarts and int(os.environ["RANK"]) == attempt % 3
    if dies and attempt % 2 == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.init_process_group("rondo")
    dist.all_reduce(torch.ones(1))
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
    if attempt == restarts:
        os.write(1, b"rank %d is done\\n" % dist.get_rank())
    dist.destroy_process_group()
""")


def restarted(*rendezvous):
    """Runs a job whose workers torchrun restarts repeatedly; returns how it ended and its output."""
    restarts = os.environ.get("RONDO_TEST_RESTARTS", "2")
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(WORKER)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(SIZE), "--max-restarts", restarts,
             "--monitor-interval", "0.1", *rendezvous, file.name],
            capture_output=True, text=True, timeout=60 + 60 * int(restarts), env={**os.environ, "OMP_NUM_THREADS": "1"})
    return done.returncode, done.stdout + done.stderr


def serve(pipe):
    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    pipe.send(store.port)
    pipe.recv()


@contextlib.contextmanager
def served_port():
    """The port of a TCPStore in a process of its own: its threads hold locks, which ranks forked beside them keep."""
    here, there = FORK.Pipe()
    server = FORK.Process(target=serve, args=(there,))
    server.start()
    try:
        yield here.recv()
    finally:
        here.send("end")
        server.join()


def four_groups(rank, size, make_store):
    """Each through the same key of the same store, with different ranks in each."""
    store = make_store()
    for number in range(4):
        dist.init_process_group("rondo", store=store, rank=(rank + number) % size, world_size=size,
                                timeout=datetime.timedelta(seconds=20))
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        assert tensor.item() == size
        dist.destroy_process_group()


def join(path, rank, size, timeout_s):
    from rondo.backend import native
    return native().ProcessGroupRondo(store=dist.FileStore(path, -1), rank=rank, size=size, group="leftover",
                                      timeout=datetime.timedelta(seconds=timeout_s))


def leftover(rank, size, path):
    """Rank 0 has waited in vain and ended; rank 1 arrives, and only then a new rank 0."""
    store = dist.FileStore(path, -1)
    if rank == 0:
        early = FORK.Process(target=join, args=(path, 0, size, 0.1))
        early.start()
        early.join()
        assert early.exitcode != 0, "a group began without rank 1"
        store.set("an id is there", "")
        store.wait(["rank 1 has come"])
    else:
        store.wait(["an id is there"])
        store.set("rank 1 has come", "")
    join(path, rank, size, 20).shutdown()


class Restarts(unittest.TestCase):
    def check_restarted(self, *rendezvous):
        code, said = restarted(*rendezvous)
        self.assertEqual(code, 0, said)
        for rank in range(SIZE):
            self.assertIn(f"rank {rank} is done", said)

    def test_workers_are_started_again_under_a_store_of_torchrun(self):
        self.check_restarted("--standalone")

    def test_workers_are_started_again_under_a_static_rendezvous(self):
        self.check_restarted("--rdzv-backend", "static", "--master-addr", "localhost", "--master-port",
                             str(free_port()))

    def test_four_groups_by_one_store(self):
        with tempfile.TemporaryDirectory() as folder, served_port() as port:
            for make_store in (lambda: dist.TCPStore("localhost", port, is_master=False),
                               lambda: dist.FileStore(os.path.join(folder, "store"), -1)):
                run(3, lambda rank, size, make=make_store: four_groups(rank, size, make), init=False)

    def test_an_id_whose_maker_has_ended_is_not_the_last_word(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "store")
            run(2, lambda rank, size: leftover(rank, size, path), init=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
