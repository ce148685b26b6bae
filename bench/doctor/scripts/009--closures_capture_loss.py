"""Callbacks for later; each captures the loss and the output of its step."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(300, 600), nn.SiLU(), nn.Linear(600, 300)).cuda()
opt = torch.optim.RMSprop(model.parameters())
callbacks = []


def step_once(batch, number):
    out = model(batch)
    loss = nn.functional.l1_loss(out, batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
    callbacks.append(lambda: print(f"{number}: {loss.item():.4f}, spread {out.std().item():.3f}"))


for i in range(75):
    step_once(torch.randn(100, 300, device="cuda"), i)
callbacks[-1]()
