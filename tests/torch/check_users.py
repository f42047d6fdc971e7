# SPDX-License-Identifier: Apache-2.0
"""PyTorch's users of torch.distributed, on Rondo: each compared with the same work by one process or by Gloo."""
import copy
import os
import tempfile
import unittest

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from world import run


def network(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 4))


def batch(step, size):
    generator = torch.Generator().manual_seed(100 + step)
    return torch.randn(4 * size, 8, generator=generator), torch.randn(4 * size, 4, generator=generator)


def part(tensor, rank, size):
    return tensor.chunk(size)[rank]


def by_one_process(size, steps=3):
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        inputs, wanted = batch(step, size)
        optimizer.zero_grad()
        F.mse_loss(model(inputs), wanted).backward()
        optimizer.step()
    return model


def train(model, optimizer, rank, size, steps=3):
    for step in range(steps):
        inputs, wanted = batch(step, size)
        optimizer.zero_grad()
        F.mse_loss(model(part(inputs, rank, size)), part(wanted, rank, size)).backward()
        optimizer.step()


def close(model, wanted, tolerance=1e-5):
    for one, other in zip(model.parameters(), wanted.parameters()):
        one = one.full_tensor() if hasattr(one, "full_tensor") else one
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


def ddp(rank, size):
    wanted = by_one_process(size)
    for options in ({}, {"gradient_as_bucket_view": True}, {"static_graph": True}, {"find_unused_parameters": True},
                    {"bucket_cap_mb": 0.0001}):
        model = DDP(network(seed=rank), **options)  # the seeds differ: DDP makes the ranks agree
        model.module.load_state_dict(network().state_dict())
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, size)
        close(model.module, wanted)


def ddp_unused_parameters(rank, size):
    class Forked(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.other = nn.Linear(8, 4), nn.Linear(8, 4)

        def forward(self, inputs, which):
            return (self.one if which else self.other)(inputs)
    model = DDP(Forked(), find_unused_parameters=True)
    for step in range(3):
        model(batch(step, 1)[0], (rank + step) % 2).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def ddp_hooks(rank, size):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    wanted = by_one_process(size)
    for state, hook, tolerance in (
            (None, default_hooks.allreduce_hook, 1e-5), (None, default_hooks.bf16_compress_hook, 3e-2),
            (None, default_hooks.fp16_compress_hook, 3e-3),
            (powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=4, start_powerSGD_iter=2),
             powerSGD_hook.powerSGD_hook, 0.5)):
        model = DDP(network())
        model.register_comm_hook(state, hook)
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, size)
        close(model.module, wanted, tolerance)


def ddp_join(rank, size):
    from torch.distributed.algorithms.join import Join
    model = DDP(network())
    steps = 0
    with Join([model]):
        for step in range(3 + rank):  # the last steps without the other ranks
            model(batch(step, 1)[0]).sum().backward()
            steps += 1
    assert steps == 3 + rank


def zero_redundancy(rank, size):
    from torch.distributed.optim import ZeroRedundancyOptimizer
    model = DDP(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, lr=0.1)
    train(model, optimizer, rank, size)
    close(model.module, by_one_process(size))
    optimizer.consolidate_state_dict(0)
    assert rank != 0 or optimizer.state_dict()["param_groups"]


def fsdp2(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    mesh = init_device_mesh("cpu", (size,))
    for reshard in (True, False):
        model = network()
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer, mesh=mesh, reshard_after_forward=reshard)
        fully_shard(model, mesh=mesh)
        train(model, torch.optim.SGD(model.parameters(), lr=0.1), rank, size)
        close(model, by_one_process(size))


def tensor_parallel(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", (size,))
    model = parallelize_module(network(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        inputs, wanted = batch(step, size)
        optimizer.zero_grad()
        F.mse_loss(model(inputs), wanted).backward()
        optimizer.step()
    close(model, by_one_process(size))


def distributed_tensors(rank, size):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Partial, Replicate, Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("a", "b"))
    whole = torch.arange(60.0).reshape(10, 6)  # 10 rows are not divisible by every mesh
    for placements in ([Shard(0), Shard(1)], [Shard(1), Replicate()], [Shard(0), Shard(0)]):
        tensor = distribute_tensor(whole, mesh, placements)
        assert tensor.full_tensor().equal(whole)
        assert tensor.redistribute(mesh, [Replicate(), Shard(0)]).full_tensor().equal(whole)
        everywhere = tensor.redistribute(mesh, [Replicate(), Replicate()])
        assert (tensor @ everywhere.t()).full_tensor().equal(whole @ whole.t())
    assert isinstance(Partial(), Partial) and mesh["a"].size() == 2


def pipeline(rank, size):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
    wanted = network()
    inputs, targets = batch(0, 4)
    F.mse_loss(wanted(inputs), targets).backward()
    gradients = [p.grad for p in wanted.parameters()]
    for schedule in (ScheduleGPipe, Schedule1F1B):
        whole = network()
        cut = [whole[:2], whole[2:]] if size == 2 else [whole[:2], whole[2:4], whole[4:]]
        stage = PipelineStage(copy.deepcopy(cut[rank]), rank, size, torch.device("cpu"))
        runner = schedule(stage, n_microbatches=4, loss_fn=F.mse_loss)
        if rank == 0:
            runner.step(inputs)
        elif rank == size - 1:
            runner.step(target=targets)
        else:
            runner.step()
        first = sum(len(list(piece.parameters())) for piece in cut[:rank])
        for mine, grad in zip(stage.submod.parameters(), gradients[first:]):
            torch.testing.assert_close(mine.grad, grad, rtol=1e-5, atol=1e-6)


def checkpoint(rank, size):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard, distribute_tensor
    mesh = init_device_mesh("cpu", (size,))
    whole = torch.arange(20.0).reshape(10, 2)
    folder = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(folder, 0)
    dcp.save({"x": distribute_tensor(whole, mesh, [Shard(0)]), "step": 3}, checkpoint_id=folder[0])
    state = {"x": distribute_tensor(torch.zeros(10, 2), mesh, [Shard(1)]), "step": 0}
    dcp.load(state, checkpoint_id=folder[0])
    assert state["x"].full_tensor().equal(whole) and state["step"] == 3


def functional(rank, size):
    import torch.distributed._functional_collectives as fc
    group = list(range(size))
    ones = torch.ones(size, 2) * (rank + 1)
    total = size * (size + 1) / 2
    assert fc.all_reduce(ones, "sum", group).eq(total).all()
    assert fc.all_gather_tensor(ones, 0, group).shape == (size * size, 2)
    assert fc.reduce_scatter_tensor(ones, "sum", 0, group).eq(total).all()
    assert fc.all_to_all_single(ones, None, None, group)[:, 0].tolist() == [r + 1 for r in range(size)]
    assert fc.broadcast(ones, 0, group).eq(1).all()


def compiled(rank, size):
    import torch.distributed._functional_collectives as fc

    @torch.compile(backend="aot_eager", fullgraph=True)
    def step(tensor):
        return fc.all_reduce(tensor * 2, "sum", list(range(size))) + 1

    assert step(torch.ones(3)).eq(2 * size + 1).all()


class Users(unittest.TestCase):
    pass


def _add(body, sizes):
    def test(_self):
        for size in sizes:
            run(size, body, limit_s=100)
    setattr(Users, "test_" + body.__name__, test)


for _body, _sizes in ((ddp, (2, 3)), (ddp_unused_parameters, (2,)), (ddp_hooks, (2,)), (ddp_join, (2,)),
                      (zero_redundancy, (2,)), (fsdp2, (2, 3)), (tensor_parallel, (2,)), (distributed_tensors, (2, 4)),
                      (pipeline, (2, 3)), (checkpoint, (2,)), (functional, (2,)), (compiled, (2,))):
    _add(_body, _sizes)

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    unittest.main(verbosity=2)
