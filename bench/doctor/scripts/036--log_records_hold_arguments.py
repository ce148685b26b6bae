"""Log lines wait in memory to be written together; each record holds its arguments."""

import logging
import logging.handlers

import torch
from torch import nn

target = logging.FileHandler("train.log", delay=True)
handler = logging.handlers.MemoryHandler(capacity=100_000, target=target)
log = logging.getLogger("train")
log.addHandler(handler)
log.setLevel(logging.INFO)
log.propagate = False

model = nn.Sequential(nn.Linear(64, 512), nn.ELU(), nn.Linear(512, 64)).cuda()
opt = torch.optim.NAdam(model.parameters())
for i in range(90):
    x = torch.randn(100, 64, device="cuda")
    out = model(x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.info("step %d: loss %s, spread %s", i, loss, out.std(0))
