# SPDX-License-Identifier: Apache-2.0
"""The table of peers. A new peer is one line here: a name, and a function that finds it or raises Missing."""
import gloo
import mpi
import rondo

OTHER_RONDO = "other-rondo"  # of another build

PEERS = {
    "openmpi": lambda workshop: mpi.find("openmpi", mpi.OpenMpi("ob1"), workshop),
    "openmpi-ucx": lambda workshop: mpi.find("openmpi-ucx", mpi.OpenMpi("ucx"), workshop),
    "ucc": lambda workshop: mpi.find("ucc", mpi.Ucc(), workshop),
    "mpich": lambda workshop: mpi.find("mpich", mpi.Mpich(), workshop),
    "gloo": lambda workshop: gloo.find("gloo", workshop),
    OTHER_RONDO: lambda workshop: rondo.find_other(OTHER_RONDO, workshop),
}
