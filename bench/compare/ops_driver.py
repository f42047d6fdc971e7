# SPDX-License-Identifier: Apache-2.0
"""Times the all_reduce through shared memory of a library for inference on CPUs. It works in place.

ops_driver.py NAME FOLDER and the arguments of torch_timing.py; FOLDER is where install_ops.py has put the library.
"""
import functools
import glob
import importlib.util
import os
import sys

import torch_timing  # first: it sets variables that PyTorch reads

import torch
import torch.distributed as dist


def connect_deepspeed(folder, rank, ranks):
    os.environ["LOCAL_SIZE"] = str(ranks)
    module = load_module(*glob.glob(os.path.join(folder, "deepspeed/ops/comm/deepspeed_shm_comm_op*.so")))
    if module.vector_kernel_level() < 2:
        raise ValueError("DeepSpeed compiles its kernels for AVX-512BW, which this CPU lacks")
    module.initialize(ranks, rank)
    address = f"{os.getuid()}_{os.environ['MASTER_ADDR']}_{os.environ['MASTER_PORT']}"
    forget_segment(f"deepspeed_allreduce_buffer_{address}_{rank}")
    return torch.ops.deepspeed.inference_all_reduce_


def load_module(path):
    """Without the package around it, which imports much more."""
    spec = importlib.util.spec_from_file_location(os.path.basename(path).split(".")[0], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def connect_vllm(folder, rank, ranks):
    # As vllm/platforms/cpu.py chooses it.  pylint: disable=protected-access
    extension = ("_C_AVX2" if not torch.cpu._is_avx512_supported() else
                 "_C" if torch.cpu._is_avx512_bf16_supported() else "_C_AVX512")
    torch.ops.load_library(os.path.join(folder, f"vllm/{extension}.abi3.so"))
    name = f"rondo-compare-{os.environ['MASTER_PORT']}"
    handle = torch.ops._C.init_shm_manager(name, ranks, rank, torch.get_num_threads())
    dist.barrier()
    torch.ops._C.join_shm_manager(handle, name)
    forget_segment(f"{name}_{rank}")
    return functools.partial(torch.ops._C.shm_allreduce, handle)


def forget_segment(name):
    """Both libraries leave the names of their segments behind."""
    dist.barrier()  # after it all ranks have opened it
    os.unlink(os.path.join("/dev/shm", name))


CONNECT = {"deepspeed": connect_deepspeed, "vllm": connect_vllm}

if __name__ == "__main__":
    sys.exit(torch_timing.run(sys.argv[3:], functools.partial(CONNECT[sys.argv[1]], sys.argv[2])))
