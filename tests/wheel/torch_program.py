# SPDX-License-Identifier: Apache-2.0
"""Two ranks that add tensors, by torch.distributed alone."""
import torch
import torch.distributed as dist

dist.init_process_group("rondo")
data = torch.arange(1000.0) * (dist.get_rank() + 1)
dist.all_reduce(data)
right = torch.equal(data, torch.arange(1000.0) * 3)
# In one piece, as the ranks share the output.
print(f"{dist.get_backend()} {dist.get_world_size()} {right}\n", end="", flush=True)
dist.destroy_process_group()
