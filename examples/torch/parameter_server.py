# SPDX-License-Identifier: Apache-2.0
"""Compares synchronous and asynchronous parameter servers with a ring all-reduce of the gradients.

    torchrun --nproc-per-node 4 examples/torch/parameter_server.py

With N ranks and K bytes of parameters, a step with a synchronous server moves 2(N-1)K bytes over the server's link:
every gradient in, every new set of parameters out. In a ring each rank's link carries 2(N-1)K/N, which is about 2K
for any N. The script counts the bytes that each rank sends and receives, and prints the maximum over the links per
step next to the formula. The asynchronous server never waits for all workers: each gets the current parameters when
its gradient has arrived. Workers therefore run at their own speed, on slightly stale gradients.

On one host all links are the same memory, so the times show the cost of messages; on a network the bytes are what
counts.
"""
import time

import torch
import torch.distributed as dist

import start
from noisy_task import RATE, Task

SERVER = 0
GRADIENT, PARAMETERS = 1, 2  # tags


class Link:
    """Counts what a rank sends and receives, in bytes."""

    def __init__(self):
        self.bytes = 0

    def send(self, data, to, tag):
        self.bytes += data.nbytes
        dist.send(data, to, tag=tag)

    def recv(self, data, source, tag):
        self.bytes += data.nbytes
        return dist.recv(data, source, tag=tag)

    def exchange(self, out, to, into, source):
        self.bytes += out.nbytes + into.nbytes
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, out, to), dist.P2POp(dist.irecv, into, source)]):
            work.wait()


def synchronous(task, weights, steps, link):
    """The server is also a worker: it adds its own gradient to the others'."""
    rank, n = dist.get_rank(), dist.get_world_size()
    for _ in range(steps):
        gradient = task.gradient(weights)
        if rank == SERVER:
            other = torch.empty_like(gradient)
            for worker in range(1, n):
                link.recv(other, worker, GRADIENT)
                gradient += other
            weights -= RATE / n * gradient
            for worker in range(1, n):
                link.send(weights, worker, PARAMETERS)
        else:
            link.send(gradient, SERVER, GRADIENT)
            link.recv(weights, SERVER, PARAMETERS)


def asynchronous(task, weights, steps, link):
    """The server only serves, taking gradients in order of arrival."""
    rank, n = dist.get_rank(), dist.get_world_size()
    gradient = torch.empty_like(weights)
    if rank == SERVER:
        for _ in range(steps * (n - 1)):
            worker = link.recv(gradient, None, GRADIENT)
            weights -= RATE / n * gradient
            link.send(weights, worker, PARAMETERS)
    else:
        for _ in range(steps):
            link.send(task.gradient(weights), SERVER, GRADIENT)
            link.recv(weights, SERVER, PARAMETERS)


def ring_all_reduce(data, link):
    """Written by hand to count bytes: n - 1 steps of reduce-scatter and n - 1 of all-gather around the ring."""
    rank, n = dist.get_rank(), dist.get_world_size()
    chunks = list(data.chunk(n))
    incoming = torch.empty_like(chunks[0])
    for step in range(n - 1):
        link.exchange(chunks[(rank - step) % n], (rank + 1) % n, incoming, (rank - 1) % n)
        chunks[(rank - step - 1) % n] += incoming
    for step in range(n - 1):
        into = chunks[(rank - step) % n]
        link.exchange(chunks[(rank - step + 1) % n], (rank + 1) % n, into, (rank - 1) % n)


def by_ring(task, weights, steps, link):
    for _ in range(steps):
        gradient = task.gradient(weights)
        ring_all_reduce(gradient, link)
        weights -= RATE / dist.get_world_size() * gradient


def by_all_reduce(task, weights, steps, _link):
    """The backend's own all-reduce, whose traffic is not counted."""
    for _ in range(steps):
        gradient = task.gradient(weights)
        dist.all_reduce(gradient)
        weights -= RATE / dist.get_world_size() * gradient


def row(name, method, options, formula):
    """Runs one method and prints its row; the formula gives the bytes of the busiest link per step."""
    task, link = Task(options.weights, dist.get_rank()), Link()
    weights = torch.zeros(options.weights)
    dist.barrier()
    started = time.perf_counter()
    method(task, weights, options.steps, link)
    dist.barrier()
    ms = (time.perf_counter() - started) * 1e3 / options.steps
    # A link carries all of a rank's traffic; in the ring each link has one sender and one receiver.
    most = torch.tensor(link.bytes / options.steps)
    dist.all_reduce(most, op=dist.ReduceOp.MAX)
    measured = most.item() / (2 if method is by_ring else 1)
    error = task.error(weights)
    counted = f"{measured:,.0f}" if measured else "not seen"
    start.say(f"{name:24} {ms:9.2f} {counted:>16} {formula:16,.0f} {error:10.4f}")
    assert not measured or abs(measured - formula) < 1, f"{name}: {measured} bytes, not {formula}"
    if dist.get_rank() == SERVER or method is not asynchronous:
        assert error < 0.1, f"{name}: nothing was learned"


def main(options):
    n = dist.get_world_size()
    if n < 2 or options.weights % n != 0:
        raise SystemExit(f"{options.weights} weights cannot be cut into {n} equal chunks, or there is 1 rank only")
    k = 4 * options.weights
    start.say(f"N = {n} ranks, K = {k:,} bytes of parameters, {options.steps} steps")
    start.say(f"{'':24} {'ms a step':>9} {'bytes of a link':>16} {'formula':>16} {'error':>10}")
    row("synchronous server", synchronous, options, 2 * (n - 1) * k)
    row("asynchronous server", asynchronous, options, 2 * (n - 1) * k)
    row("ring by hand", by_ring, options, 2 * (n - 1) * k / n)
    row(f"{dist.get_backend()}'s all_reduce", by_all_reduce, options, 2 * (n - 1) * k / n)


if __name__ == "__main__":
    parser = start.make_parser(__doc__)
    parser.add_argument("--weights", type=int, default=12288, help="parameters, of 4 bytes (12288)")
    parser.add_argument("--steps", type=int, default=40, help="steps of training (40)")
    start.run(main, parser)
