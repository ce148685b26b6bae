"""Gradients with their graphs, for a look at their norm; nobody resets them, and so all steps hang together."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 1)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=1e-4)
for step in range(80):
    x = torch.randn(64, 128, device="cuda")
    loss = model(x).pow(2).mean()
    loss.backward(create_graph=True)
    norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
    opt.step()
    if step % 20 == 0:
        print(step, norm.item())
