# SPDX-License-Identifier: Apache-2.0
"""What a contestant measures in one turn: one collective on a number of ranks, over a list of sizes."""
from dataclasses import dataclass

KIB, MIB = 1 << 10, 1 << 20
# Last size, iterations and warm-up of each part of a sweep: small calls need many iterations to be timed well.
PARTS = ((4 * KIB, 200, 20), (256 * KIB, 50, 5), (4 * MIB, 20, 3), (1 << 40, 5, 1))
# Approximate time limit for a peer's iterations of one size; it runs fewer if they would take longer.
MAX_SECONDS = 0.5
FEWER = 8  # iterations of a window than of a call
ELEMENT_BYTES = {"float": 4, "half": 2, "bfloat16": 2, "double": 8}
COLLECTIVES = ("all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter", "all_to_all", "gather",
               "scatter", "send_recv", "barrier", "ping_pong", "one_way", "both_ways")
WINDOWED = ("one_way", "both_ways")  # whose calls are windows of WINDOW messages
WINDOW = 64
MESSAGES = ("ping_pong", *WINDOWED)
IN_BLOCKS = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
NOT_IN_PLACE = ("all_to_all", "send_recv", "barrier", *MESSAGES)
TRANSPORTS = ("shm", "tcp")


@dataclass(frozen=True)
class Sweep:
    transport: str
    collective: str
    ranks: int

    def __str__(self):
        return f"{self.collective}, {self.ranks} ranks, {self.transport}"


@dataclass(frozen=True)
class Step:
    bytes: int
    iterations: int
    warmup: int

    def __str__(self):
        return f"{self.bytes}:{self.iterations}:{self.warmup}"


@dataclass(frozen=True)
class Job:
    sweep: Sweep
    steps: tuple
    type: str
    in_place: bool
    fresh: bool
    bind: str
    timeout: float  # seconds

    def driver_arguments(self):
        """The last arguments of a peer's driver."""
        words = self.sweep.collective, self.type, int(self.in_place), int(self.fresh), MAX_SECONDS, *self.steps
        return list(map(str, words))


def step_of(size, sweep):
    step = next(Step(size, iterations, warmup) for last, iterations, warmup in PARTS if size <= last)
    if sweep.collective not in WINDOWED:
        return step
    return Step(size, max(2, step.iterations // FEWER), max(1, step.warmup // FEWER))


def sizes_of(sweep, arguments):
    """The sizes that give every rank at least one element."""
    if sweep.collective == "barrier":
        return [0]
    blocks = sweep.ranks if sweep.collective in IN_BLOCKS else 1
    least = ELEMENT_BYTES[arguments.type] * blocks
    sizes, size = [], arguments.first
    while size <= arguments.last:
        sizes += [size] if size >= least else []
        size *= arguments.factor
    return sizes


def sweeps_of(arguments):
    return [Sweep(transport, collective, ranks) for transport in arguments.transport
            for collective in arguments.collectives for ranks in arguments.ranks]


def job_of(sweep, sizes, arguments, timeout):
    steps = tuple(step_of(size, sweep) for size in sizes)
    return Job(sweep, steps, arguments.type, arguments.in_place, arguments.fresh, arguments.bind, timeout)
