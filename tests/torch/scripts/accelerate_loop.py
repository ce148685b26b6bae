"""A plain loop under `accelerate launch`, with accumulation, clipping and evaluation."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 10))
data = TensorDataset(torch.randn(2048, 256), torch.randint(0, 10, (2048,)))
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 100)
model, optimizer, train, evaluation, schedule = accelerator.prepare(
    model, optimizer, DataLoader(data, batch_size=32, shuffle=True), DataLoader(data, batch_size=64), schedule
)
for _epoch in range(3):
    model.train()
    for x, y in train:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    for x, y in evaluation:
        with torch.no_grad():
            predicted, wanted = accelerator.gather_for_metrics((model(x).argmax(1), y))
        assert predicted.shape == wanted.shape
accelerator.print("finished")
