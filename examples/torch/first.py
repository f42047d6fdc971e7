# SPDX-License-Identifier: Apache-2.0
import torch
import torch.distributed as dist

dist.init_process_group("rondo")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
inputs = torch.randn(64, 10)
for step in range(10):
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    if dist.get_rank() == 0:
        print(f"step {step}: loss {loss.item():.3f}")
dist.destroy_process_group()
