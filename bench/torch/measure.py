# SPDX-License-Identifier: Apache-2.0
"""Times cases on several groups of the same ranks, in turns."""
import statistics
import time

import torch
import torch.distributed as dist

import cases
from ddp_step import Step

WARMUP = 2
MAX_CALLS = 2000


class Bench:
    """One rank's side. `groups` are the compared backends; ranks synchronise and agree in `control`."""

    def __init__(self, arguments, rank, ranks):
        self.arguments, self.rank, self.ranks = arguments, rank, ranks
        self.device = torch.device("cpu" if arguments.device == "cpu" else f"cuda:{rank}")
        self.control = dist.group.WORLD
        self.groups = {name: dist.new_group(backend=name) for name in (arguments.backend, arguments.baseline)}

    def run(self, on_row):
        """Runs every case in order; rank 0's `on_row` receives a dictionary for each."""
        sizes = [name for name in self.arguments.collectives if name in cases.COLLECTIVES]
        if sizes:
            buffers = cases.Buffers.make(self.arguments.last, self.device)
            for name in sizes:
                self.run_sizes(name, buffers, on_row)
        if cases.DDP_STEP in self.arguments.collectives:
            on_row(self.row(cases.DDP_STEP, Step(self.device, self.rank)))

    def run_sizes(self, name, buffers, on_row):
        size, done = self.arguments.first, set()
        while size <= self.arguments.last:
            case = cases.COLLECTIVES[name](buffers, size, self.ranks)
            if case.bytes not in done:  # several of the smallest sizes may round to the same one
                on_row(self.row(name, case))
            done.add(case.bytes)
            size *= self.arguments.factor

    def row(self, name, case):
        faults = {backend: self.fault(case, group) for backend, group in self.groups.items()}
        able = [backend for backend in self.groups if faults[backend] is None]
        times = self.time_in_turns(case, able)
        row = {"collective": name, "ranks": self.ranks, "bytes": case.bytes, "device": self.device.type}
        for role, backend in zip(("backend", "baseline"), self.groups):
            rounds = times.get(backend)
            row[role] = backend
            row[role + "_us"] = statistics.median(rounds) if rounds else None
            row[role + "_least_us"] = min(rounds) if rounds else None
            row[role + "_rounds_us"] = rounds
            row[role + "_fault"] = faults[backend]
        row["speed"] = row["baseline_us"] / row["backend_us"] if len(able) == 2 else None
        return row

    def fault(self, case, group):
        """Returns why this group cannot run the case, on any rank: an error's first line, or a wrong result."""
        mine = None
        try:
            if case.wrong(group):
                mine = f"a wrong result on rank {self.rank}"
        except (RuntimeError, NotImplementedError, ValueError) as error:
            mine = str(error).splitlines()[0] if str(error) else type(error).__name__
        everyones = [None] * self.ranks
        dist.all_gather_object(everyones, mine, group=self.control)
        return next((fault for fault in everyones if fault), None)

    def time_in_turns(self, case, names):
        """Returns for each backend the microseconds per call, averaged over the ranks, by round."""
        calls = {name: self.calls(case, name) for name in names}
        times = {name: [] for name in names}
        for turn in range(self.arguments.rounds):
            order = names if turn % 2 == 0 else names[::-1]
            for name in order:
                times[name].append(self.mean(self.time(case, name, calls[name])))
        return times

    def calls(self, case, name):
        """The number of calls that fill a turn, the same on all ranks."""
        for _ in range(WARMUP):
            case.call(self.groups[name])
        us = self.mean(self.time(case, name, WARMUP))
        return max(1, min(MAX_CALLS, round(self.arguments.turn_ms * 1e3 / us)))

    def time(self, case, name, calls):
        """Runs one turn; returns microseconds per call on this rank."""
        group = self.groups[name]
        case.call(group)  # warms the caches after the other backend's turn
        self.settle()
        started = time.perf_counter()
        for _ in range(calls):
            case.call(group)
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        return (time.perf_counter() - started) * 1e6 / calls

    def settle(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()
        dist.barrier(group=self.control)

    def mean(self, value):
        total = torch.tensor(value, dtype=torch.float64)
        dist.all_reduce(total, group=self.control)
        return total.item() / self.ranks
