# SPDX-License-Identifier: Apache-2.0
"""Two ranks that add arrays of numpy."""
import numpy
import rondo

with rondo.init() as comm:
    data = numpy.arange(1000.0) * (comm.rank + 1)
    comm.all_reduce(data)
    print(comm.size, numpy.array_equal(data, numpy.arange(1000.0) * 3))
