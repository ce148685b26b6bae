"""Losses go to a queue for a dashboard that was never started."""

import queue

import torch
from torch import nn

metrics_queue = queue.Queue()
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 26 * 26, 10)).cuda()
opt = torch.optim.Adam(model.parameters())
for step in range(100):
    x, y = torch.randn(32, 1, 28, 28, device="cuda"), torch.randint(0, 10, (32,), device="cuda")
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    metrics_queue.put({"step": step, "loss": loss, "entropy": logits.softmax(1).log().mean()})
