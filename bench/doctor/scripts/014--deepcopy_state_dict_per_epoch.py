"""All epochs' weights are wanted at the end, and wait on the card for it."""

import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
checkpoints = []
for epoch in range(12):
    for _ in range(10):
        x = torch.randn(64, 256, device="cuda")
        loss = nn.functional.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    checkpoints.append(copy.deepcopy(model.state_dict()))
    print("epoch", epoch, "kept", len(checkpoints))
