import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(300, 600), nn.ReLU(), nn.Linear(600, 300)).cuda()
ema = copy.deepcopy(model).requires_grad_(False)
opt = torch.optim.AdamW(model.parameters())
for step in range(100):
    x = torch.randn(64, 300, device="cuda")
    loss = (model(x) - x).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for slow, fast in zip(ema.parameters(), model.parameters()):
            slow.lerp_(fast, 0.01)
