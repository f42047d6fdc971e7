# SPDX-License-Identifier: Apache-2.0
"""Computes the all_reduce sum of vectors from a file, by Gloo through torch.distributed.

gloo_sums.py TYPE RANKS COUNT INPUT OUTPUT

INPUT holds COUNT elements for each rank, in rank order; OUTPUT receives rank 0's result.
"""
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../compare"))
os.environ["OMP_NUM_THREADS"] = "1"  # ranks share the cores
os.environ["GLOO_SOCKET_IFNAME"] = "lo"
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import ranks as ranks_of_host  # noqa: E402

TYPES = {"float": torch.float32, "double": torch.float64, "half": torch.float16, "bfloat16": torch.bfloat16}


def run_rank(rank, kind, count, source, result):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    with open(source, "rb") as file:
        file.seek(rank * count * kind.itemsize)
        own = torch.frombuffer(bytearray(file.read(count * kind.itemsize)), dtype=kind)
    dist.all_reduce(own)
    if rank == 0:
        with open(result, "wb") as file:
            file.write(bytes(own.untyped_storage()))
    dist.barrier()
    dist.destroy_process_group()


def main():
    kind, ranks, count, source, result = sys.argv[1:]
    sys.exit(ranks_of_host.start("none", int(ranks), lambda rank: run_rank(
        rank, TYPES[kind], int(count), source, result)))


if __name__ == "__main__":
    main()
