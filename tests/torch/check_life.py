# SPDX-License-Identifier: Apache-2.0
"""The life cycle of groups: subgroups, splits, restarts, what is left behind; and asynchronous calls."""
import datetime
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
from unittest import mock

import torch
import torch.distributed as dist

from world import FORK, enter, finish, raises, run

SUCCESS, TIMEOUT = 0, 1  # c10d::WorkResult


def total(group=None):
    tensor = torch.ones(1)
    dist.all_reduce(tensor, group=group)
    return int(tensor.item())


def subgroups(rank, size):
    odd = dist.new_group([r for r in range(size) if r % 2], timeout=datetime.timedelta(seconds=20))
    mine, all_of_them = dist.new_subgroups(2)
    assert len(all_of_them) == 2 and total(mine) == 2
    if rank % 2:
        assert dist.get_world_size(odd) == 2 and total(odd) == 2
        assert dist.get_rank(odd) == rank // 2
    assert total() == size
    dist.destroy_process_group(mine)
    assert total() == size


def split_group(**options):
    """dist.split_group(). Before 2.15 PyTorch refuses it without a GPU, so one is faked."""
    if torch.__version__ >= (2, 15):
        return dist.split_group(**options)
    dist.group.WORLD.bound_device_id = torch.device("cpu:0")
    with (mock.patch("torch.accelerator.is_available", lambda: True),
          mock.patch("torch.accelerator.current_accelerator", lambda: torch.device("cpu"))):
        return dist.split_group(**options)


def splits(rank, size):
    half = split_group(split_ranks=[[0, 1], [2, 3]])
    assert total(half) == 2 and dist.get_rank(half) == rank % 2
    first = split_group(split_ranks=[[0, 2, 3]], timeout=datetime.timedelta(seconds=9))
    assert (first is None or first == dist.GroupMember.NON_GROUP_MEMBER) if rank == 1 else total(first) == 3


def timeout_of_a_split(rank, size):
    """A split's timeout differs from that of its parent group."""
    split_group(split_ranks=[[0, 1]], timeout=datetime.timedelta(seconds=2))
    time.sleep(2.5 * rank)
    dist.barrier()


def again_and_again(rank, size):
    for _ in range(3):
        assert total() == size
        file = dist.distributed_c10d._get_default_store()
        assert file is not None
        dist.destroy_process_group()
        path = os.path.join(os.environ["RONDO_TEST_FOLDER"], f"again-{_}")
        enter(rank, size, path)
    assert total() == size


def by_several_backends(rank, size):
    assert dist.get_backend_config() == "cpu:rondo,cuda:rondo"
    assert total() == size


def with_gloo(rank, size):
    gloo = dist.new_group(backend="gloo")
    for _ in range(5):
        assert total() == size and total(gloo) == size


def async_calls(rank, size):
    works, tensors = [], [torch.full((1000,), float(rank + i)) for i in range(20)]
    for tensor in tensors:
        works.append(dist.all_reduce(tensor, async_op=True))
    for work in works:
        work.wait()
        finish()
        assert work.is_completed()
    assert all(tensor.eq(sum(range(size)) + size * i).all() for i, tensor in enumerate(tensors))
    future = dist.all_reduce(torch.ones(4), async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2)
    assert doubled.wait().eq(2 * size).all()
    nested = dist.all_reduce(torch.ones(4), async_op=True).get_future().then(
        lambda done: (dist.all_reduce(done.value()[0]), done.value()[0])[1])
    assert nested.wait().eq(size * size).all()
    inputs = [dist.all_gather([torch.empty(2) for _ in range(size)], torch.ones(2), async_op=True)]
    assert len(inputs[0].result()) == size


def ends_under_callbacks(rank, size):
    called = []
    future = dist.all_reduce(torch.ones(1_000_000), async_op=True).get_future()
    after = future.then(lambda done: called.append(done.value()[0][0].item()))
    dist.destroy_process_group()
    after.wait()
    assert called == [size]


def sequence_numbers(rank, size):
    # From 2.14 on, groups report it themselves for their plugins.
    group = dist.group.WORLD if torch.__version__ >= (2, 14) else dist.group.WORLD._get_backend(torch.device("cpu"))
    begin = group._get_sequence_number_for_group()
    total()
    dist.barrier()
    assert group._get_sequence_number_for_group() == begin + 2


def profiled(rank, size):
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
        total()
        work = dist.broadcast(torch.ones(3), 0, async_op=True)
        work.wait()
        if rank == 0:
            dist.send(torch.ones(2), 1)
        elif rank == 1:
            dist.recv(torch.ones(2), 0)
    names = {event.name for event in profile.events()}
    for name in ("rondo:all_reduce", "rondo:broadcast", *(("rondo:send", "rondo:recv")[rank:rank + 1])):
        assert name in names, f"{name} is not in {sorted(names)}"
    with tempfile.TemporaryDirectory() as folder:
        profile.export_chrome_trace(f"{folder}/trace.json")
        with open(f"{folder}/trace.json", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    said = {event["args"]["Collective name"]: event["args"] for event in events
            if event["name"] == "record_param_comms"}
    for name, number in (("broadcast", 3), (("send", "recv")[rank], 2)):
        facts = said[name]
        # What a receive takes in is known by its end alone.
        assert (facts["Group size"], facts["dtype"]) == (size, "Float"), facts
        assert facts["Out msg nelems" if name == "recv" else "In msg nelems"] == number, facts
        assert facts["Process Group Name"] and facts["Process Group Ranks"] == "[0, 1]", facts


def durations(rank, size):
    work = dist.all_reduce(torch.ones(3), async_op=True)
    work.wait()
    with raises(dist.DistBackendError, "_enable_collectives_timing"):
        work._get_duration()
    group = dist.group.WORLD._get_backend(torch.device("cpu"))
    group._enable_collectives_timing()
    dist.barrier()
    if rank == 0:
        time.sleep(0.3)
    work = dist.all_reduce(torch.ones(3), async_op=True)
    if rank != 0:
        with raises(dist.DistBackendError, "before it is complete"):
            work._get_duration()
    work.wait()
    assert 0 < work._get_duration() < 60_000
    assert rank == 0 or work._get_duration() > 150, work._get_duration()
    if rank < 2:
        message = torch.ones(100_000)
        work = dist.isend(message, 1) if rank == 0 else dist.irecv(message, 0)
        work.wait()
        assert 0 < work._get_duration() < 60_000


def results(rank, size):
    work = dist.all_reduce(torch.ones(3), async_op=True)
    early = work.get_future_result()
    work.wait()
    assert int(early.wait()) == int(work.get_future_result().wait()) == SUCCESS
    assert work.get_future().wait()[0].eq(size).all()
    dist.barrier()
    dist.group.WORLD.set_timeout(datetime.timedelta(milliseconds=300))
    if rank == 0:
        time.sleep(1)
        return
    ended = dist.all_reduce(torch.ones(3), async_op=True).get_future_result()
    assert int(ended.wait()) == TIMEOUT, ended.value()


def timeouts_of_groups(rank, size):
    dist.barrier()
    dist.group.WORLD.set_timeout(datetime.timedelta(milliseconds=300))
    if rank == 0:
        time.sleep(1)
        return
    with raises(dist.DistBackendError, "0.3 s"):
        dist.barrier()


def belongings():
    with open("/proc/self/maps") as maps:
        shared = sum("memfd:" in line for line in maps)
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd")), shared


def thousand_lives():
    """In threads of one process, so that two ranks can meet a thousand times quickly."""
    from threading import Thread

    from rondo.backend import native
    first, then = None, None

    def live(rank, store, name):
        group = native().ProcessGroupRondo(store=dist.PrefixStore(name, store), rank=rank, size=2,
                                           timeout=datetime.timedelta(seconds=30), group=name)
        tensor = torch.ones(10)
        group.allreduce([tensor]).wait()
        assert tensor.eq(2).all()
        group.shutdown()

    store = dist.HashStore()
    for life in range(1000):
        threads = [Thread(target=live, args=(rank, store, f"life {life}")) for rank in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if life == 10:
            first = belongings()
    for _ in range(100):
        then = belongings()
        if all(now <= before for now, before in zip(then, first)):
            return
        time.sleep(0.02)
    raise AssertionError(f"threads, descriptors, shared mappings: {first} after 10 lives, {then} after 1000")


def _spawned(rank, size, file):
    enter(rank, size, file)
    assert total() == size  # and no destroy_process_group(): scripts forget it


SCRIPT = textwrap.dedent("""
    import os, sys, time
    import torch, torch.distributed as dist
    dist.init_process_group("rondo")
    tensor = torch.ones(1)
    dist.broadcast(tensor, 0)  # the first call of its kind connects the ranks
    if dist.get_rank() == 1:
        time.sleep(0.3)  # the others have left by then
    dist.broadcast(tensor, 0)
    os.write(1, b"rank %d is done\\n" % dist.get_rank())  # in one piece, whatever the other rank writes
    {end}
""")


def script(end, environment=()):
    """Runs two processes under torchrun; returns how it ended and their output."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(SCRIPT.format(end=end))
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0",
             "--rdzv-endpoint", "localhost:0", "--rdzv-backend", "c10d", file.name],
            capture_output=True, text=True, timeout=90, env={**os.environ, "OMP_NUM_THREADS": "1", **dict(environment)})
    return done.returncode, done.stdout + done.stderr


class Life(unittest.TestCase):
    def test_groups(self):
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RONDO_TEST_FOLDER"] = folder
            for body, size in ((subgroups, 4), (splits, 4), (timeout_of_a_split, 2), (again_and_again, 3),
                               (with_gloo, 2), (async_calls, 3), (ends_under_callbacks, 2),
                               (sequence_numbers, 2), (profiled, 2), (durations, 3)):
                with self.subTest(body=body.__name__):
                    run(size, body)

    def test_the_same_backend_for_several_devices(self):
        run(2, by_several_backends, backend="cpu:rondo,cuda:rondo")

    def test_the_timeout_of_a_group_can_be_changed(self):
        run(2, timeouts_of_groups, dies=[0])

    def test_futures_of_results(self):
        run(2, results, dies=[0])

    def test_a_thousand_lives_leave_nothing_behind(self):
        child = FORK.Process(target=thousand_lives)
        child.start()
        child.join(120)
        self.assertEqual(child.exitcode, 0)

    def test_spawned_processes_that_end_without_a_word(self):
        with tempfile.TemporaryDirectory() as folder:
            context = multiprocessing.get_context("spawn")
            file = os.path.join(folder, "store")
            ranks = [context.Process(target=_spawned, args=(rank, 2, file)) for rank in range(2)]
            for process in ranks:
                process.start()
            for process in ranks:
                process.join(60)
                self.assertEqual(process.exitcode, 0)

    def test_scripts_under_torchrun_whether_or_not_they_destroy_their_group(self):
        for end in ("dist.destroy_process_group()", "pass"):
            code, said = script(end)
            self.assertEqual(code, 0, said)
            for rank in range(2):
                self.assertIn(f"rank {rank} is done", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
