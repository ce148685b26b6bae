"""Tensor parallelism: pairs of layers split by columns, then by rows."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from layers import LAYERS, WIDTH, Stack, train
from rank_report import parameter_bytes, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (int(os.environ["WORLD_SIZE"]),))
model = Stack().cuda()
whole = parameter_bytes(model)
styles = {f"layers.{i}": ColwiseParallel() if i % 2 == 0 else RowwiseParallel() for i in range(LAYERS)}
model = parallelize_module(model, mesh, styles)
torch.cuda.empty_cache()
after_splitting = torch.cuda.memory_allocated()
train(model, torch.optim.SGD(model.parameters(), lr=0.1, foreach=False))
output = model(torch.randn(4, WIDTH, device="cuda"))
report(parameter_bytes=whole, after_splitting=after_splitting, shape=list(output.shape))
dist.destroy_process_group()
