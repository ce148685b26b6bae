# vramfit doctor --gpu rtx3060 -- python capacity_exceeded.py
import torch
from torch import nn

model = nn.Sequential(*(nn.Sequential(nn.Linear(4096, 4096), nn.ReLU()) for _ in range(24))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    loss = model(torch.zeros(65536, 4096, device="cuda")).mean()  # 1 GiB for the output of every layer
    loss.backward()
    optimizer.step()
