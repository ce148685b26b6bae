"""nn.DataParallel: one process, a replica a card."""

from __future__ import annotations

import torch
from layers import Stack, train
from rank_report import parameter_bytes, report

model = torch.nn.DataParallel(Stack().cuda())
train(model, torch.optim.SGD(model.parameters(), lr=0.1), batch=64)
peaks = [torch.cuda.max_memory_allocated(i) for i in range(torch.cuda.device_count())]
report(parameter_bytes=parameter_bytes(model), peaks=peaks)
