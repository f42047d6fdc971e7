# SPDX-License-Identifier: Apache-2.0
"""Runs under torchrun for check_served.py: programs that leave the choice of a backend to a library.

    served_program.py accelerate | lightning | groups
"""
import os
import sys
import tempfile
import warnings

import torch
import torch.distributed as dist
from torch import nn

STEPS, BATCH = 6, 4
warnings.simplefilter("ignore")
torch.set_num_threads(1)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))


def examples():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(2 * STEPS * BATCH, 8, generator=generator)
    return [{"x": x, "y": x.sum().reshape(1)} for x in inputs]


def tell(losses):
    backend = dist.group.WORLD._get_backend(torch.device("cpu"))
    sys.stdout.write(f"served by {backend.name()}\n")
    if dist.get_rank() == 0:
        sys.stdout.write("".join(f"loss {loss}\n" for loss in losses))


def mean_over_ranks(loss):
    loss = loss.detach().clone()
    dist.all_reduce(loss)
    return loss.item() / dist.get_world_size()


def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True)
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = torch.utils.data.DataLoader(examples(), batch_size=BATCH)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    losses = []
    for batch in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
        accelerator.backward(loss)
        optimizer.step()
        losses.append(accelerator.gather(loss.detach()).mean().item())
    tell(losses)
    trainer()  # on accelerate's group
    accelerator.end_training()


class WithLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = network()

    def forward(self, x, labels):
        outputs = self.network(x)
        return {"loss": nn.functional.mse_loss(outputs, labels), "outputs": outputs}


def trainer():
    from transformers import Trainer, TrainingArguments
    data = [{"x": example["x"], "labels": example["y"]} for example in examples()]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, use_cpu=True, per_device_train_batch_size=BATCH,
                                      num_train_epochs=1, logging_steps=1, learning_rate=0.1, optim="sgd",
                                      report_to=[], save_strategy="no", disable_tqdm=True, seed=0)
        trained = Trainer(model=WithLoss(), args=arguments, train_dataset=data)
        trained.train()
        tell([row["loss"] for row in trained.state.log_history if "loss" in row])


def lightning():
    import lightning

    class Trained(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network, self.losses = network(), []

        def training_step(self, batch, _):
            loss = nn.functional.mse_loss(self.network(batch["x"]), batch["y"])
            self.losses.append(mean_over_ranks(loss))
            return loss

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    model = Trained()
    with tempfile.TemporaryDirectory() as folder:
        trained = lightning.Trainer(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp",
                                    max_epochs=1, logger=False, enable_checkpointing=False, default_root_dir=folder,
                                    enable_progress_bar=False, enable_model_summary=False)
        trained.fit(model, torch.utils.data.DataLoader(examples(), batch_size=BATCH))
    tell(model.losses)
    dist.destroy_process_group()


def groups():
    """Every way to name Gloo leads to Rondo. Leaves what torch's flight recorder has, for torchfrtrace."""
    cpu = torch.device("cpu")
    dist.init_process_group()  # what torch chooses for the devices
    rank, size = dist.get_rank(), dist.get_world_size()
    assert "gloo" in dist.get_backend_config(), dist.get_backend_config()
    for group in (dist.group.WORLD, dist.new_group(backend="gloo"), dist.new_group(backend="cpu:gloo,cuda:gloo"),
                  dist.new_group([0, size - 1], backend="gloo")):
        if group == dist.GroupMember.NON_GROUP_MEMBER:
            continue
        assert group._get_backend(cpu).name() == "rondo"
        total = torch.full((1000,), float(rank))
        dist.all_reduce(total, group=group)
        assert (total == sum(dist.get_process_group_ranks(group))).all()
    assert dist.get_backend(dist.new_group(backend="gloo")) == "gloo"
    dist.monitored_barrier()
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank})
    assert gathered == [{"rank": each} for each in range(size)]
    dist.broadcast(torch.ones(77), 1)
    torch._C._distributed_c10d._dump_fr_trace_file(rank, backend="rondo")
    dist.destroy_process_group()
    sys.stdout.write("right\n")


if __name__ == "__main__":
    globals()[sys.argv[1]]()
