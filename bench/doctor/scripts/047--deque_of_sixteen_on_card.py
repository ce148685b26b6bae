from collections import deque

import torch
from torch import nn

recent = deque(maxlen=16)
net = nn.Sequential(nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 128)).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(120):
    x = torch.randn(64, 128, device="cuda")
    out = net(x)
    recent.append(out.detach())
    target = torch.stack(list(recent)).mean(0)
    loss = (out - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
