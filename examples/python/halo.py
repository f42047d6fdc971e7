# SPDX-License-Identifier: Apache-2.0
"""Heat spreads over a ring of cells that are divided among the ranks. Each step a rank needs the border cells of its
neighbours, its halo: these messages travel while it computes its inner cells. No heat is lost, as the last line shows.

    rondo-run -n 4 python3 examples/python/halo.py
"""
import array

import rondo

CELLS = 250  # of each rank, beside the halo: a cell at either end
STEPS = 200
RATE = 0.25


def spread(now, later, cells):
    for i in cells:
        later[i] = now[i] + RATE * (now[i - 1] - 2 * now[i] + now[i + 1])


def step(comm, now, later):
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    cells = memoryview(now)  # its slices are arrays in place
    requests = [comm.irecv(cells[:1], left, tag=1), comm.irecv(cells[-1:], right, tag=2),
                comm.isend(cells[1:2], left, tag=2), comm.isend(cells[-2:-1], right, tag=1)]
    spread(now, later, range(2, CELLS))
    for request in requests:
        request.wait()
    spread(now, later, (1, CELLS))  # which need the halo


def main():
    with rondo.init() as comm:
        now = array.array("d", bytes(8 * (CELLS + 2)))
        later = array.array("d", now)
        if comm.rank == 0:
            now[1] = 1.0  # at the border, so that heat flows to the neighbour
        for _ in range(STEPS):
            step(comm, now, later)
            now, later = later, now
        heat = array.array("d", [sum(now[1:-1]), max(now[1:-1])])
        total, hottest = heat[:1], heat[1:]
        comm.all_reduce(total)
        comm.all_reduce(hottest, op="max")
        if comm.rank == 0:
            print(f"{comm.size * CELLS} cells: total heat {total[0]:.9f}, hottest cell {hottest[0]:.6f}")


if __name__ == "__main__":
    main()
