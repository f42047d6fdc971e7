# SPDX-License-Identifier: Apache-2.0
"""What gpu-check runs: the only file to change if programs get other options, or if a part takes too long."""

# Part, time limit in seconds, description. The limits add up to less than 8 minutes. On one H100 the tests took 121 s,
# the collectives 14 s and the sanitizer 40 s.
PARTS = (
    ("tests", 160, "every test of suite 'gpu'"),
    ("kernels", 60, "the benchmarks of single kernels (programs named *_gpu_bench)"),
    ("collectives", 100, "rondo-perf on GPU memory: ranks as threads and as processes, all on one GPU"),
    ("gpus", 90, "rondo-perf on all GPUs of the machine, a rank on each"),
    ("sanitizer", 60, "a short test under compute-sanitizer"),
)

TEST_SECONDS = 60  # limit per test, so that one that hangs leaves time for the others

BENCHMARK_SUFFIX = "_gpu_bench"
BENCHMARK_ARGUMENTS = "--benchmark_min_time=0.01"  # Google Benchmark's; --benchmark_out is added
# The figures kept for each benchmark; of_copy is its rate relative to the GPU's own copy.
BENCHMARK_FIGURES = (
    "name", "real_time", "time_unit", "bytes_per_second", "items_per_second", "of_copy", "error_message")

# Environment variables and arguments of rondo-perf; --json is added. Each run may take COLLECTIVE_SECONDS.
COLLECTIVE_SECONDS = 40
COLLECTIVES = (
    "all_reduce --memory cuda --devices 0 -t 2 -b 8 -e 8 -n 100 -G 20",  # a graph of small calls
    "all_reduce --memory cuda --devices 0 -t 2 -b 8 -e 256M -f 8 --limits",
    "all_reduce --memory cuda --devices 0 -t 4 -b 8 -e 256M -f 8 --limits",
    "all_reduce --memory cuda --devices 0 -t 8 -b 8 -e 256M -f 8 --limits",
    "all_reduce --memory cuda --devices 0 -t 4 -b 8 -e 64M -f 8 -d bfloat16",
    "all_reduce --memory cuda --devices 0 --ranks 2 -b 8 -e 64M -f 8 --limits",
    "all_reduce --memory cuda --devices 0 --ranks 4 -b 8 -e 64M -f 8 --limits",
    "all_reduce --memory cuda --devices 0 -t 2 --transport tcp -b 8 -e 16M -f 8",
    "all_reduce --memory cuda --devices 0 -t 4 --algorithm one_shot -b 8 -e 64K -f 8",
    "all_reduce --memory cuda --devices 0 -t 4 --algorithm ring -b 8 -e 64M -f 8",
    "CUDA_DEVICE_MAX_CONNECTIONS=1 send_recv --memory cuda --devices 0 --ranks 2 -b 8 -e 64M -f 8",
    "all --memory cuda --devices 0 -t 4 -b 8 -e 8M -f 1024",
    "all --memory cuda --devices 0 --ranks 4 -b 8 -e 8M -f 1024",
)

# The same for several GPUs; {gpus} is their number. Sizes of 4 x 7^n bytes are odd numbers of floats.
EVERY_GPU = (
    "all_reduce --memory cuda --ranks {gpus} -b 8 -e 256M -f 8 --limits",
    "all_reduce --memory cuda -t {gpus} -b 8 -e 256M -f 8 --limits",
    "all_reduce --memory cuda --ranks {gpus} -b 8 -e 64M -f 8 -d bfloat16",
    "CUDA_DEVICE_MAX_CONNECTIONS=1 all_reduce --memory cuda --ranks {gpus} -b 8 -e 64M -f 8",
    "CUDA_DEVICE_MAX_CONNECTIONS=1 send_recv --memory cuda --ranks {gpus} -b 8 -e 64M -f 8",
    "all_reduce --memory cuda --ranks {gpus} -b 28 -e 64M -f 7",
    "all --memory cuda --ranks {gpus} -b 28 -e 8M -f 343",
    "all --memory cuda --ranks {gpus} -b 28 -e 8M -f 343 -d bfloat16",
    "all_reduce --memory cuda --ranks {gpus} --algorithm one_shot -b 8 -e 64K -f 8",
    "all_reduce --memory cuda --ranks {gpus} --algorithm two_shot -b 8 -e 64M -f 8",
    "all_reduce --memory cuda --ranks {gpus} --algorithm ring -b 8 -e 64M -f 8",
)

# Tools of compute-sanitizer, the test that each runs (by its name in meson), and arguments for the test.
SANITIZER = (
    ("memcheck", "gpu-device", "'many folds*'"),
    ("memcheck", "gpu-device", "'the GPU scales*'"),
)
