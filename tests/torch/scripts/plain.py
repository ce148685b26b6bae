"""One card, no parallelism: what the several-card scripts are compared with."""

from __future__ import annotations

import torch
from layers import Stack, train
from rank_report import parameter_bytes, report

model = Stack().cuda()
train(model, torch.optim.SGD(model.parameters(), lr=0.1))
report(parameter_bytes=parameter_bytes(model))
