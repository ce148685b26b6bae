"""Pipeline parallelism: the stack cut into one stage a rank, GPipe schedule, four micro-batches."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from layers import LAYERS, WIDTH, Stack
from rank_report import parameter_bytes, report
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

MICRO_BATCHES = 4
BATCH = 16

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl")
part = Stack(layers=LAYERS // ranks).to(device)
# Since torch 2.12 what the example says of gradients holds for what is received.
example = torch.randn(BATCH // MICRO_BATCHES, WIDTH, device=device, requires_grad=rank > 0)
stage = PipelineStage(part, rank, ranks, device, input_args=(example,), output_args=part(example))
schedule = ScheduleGPipe(stage, n_microbatches=MICRO_BATCHES, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(BATCH, WIDTH, device=device)
    losses: list[torch.Tensor] = []
    if rank == 0:
        schedule.step(x)
    elif rank == ranks - 1:
        schedule.step(target=x, losses=losses)
    else:
        schedule.step()
    optimizer.step()
    optimizer.zero_grad()
report(parameter_bytes=parameter_bytes(part), losses=len(losses))
dist.destroy_process_group()
