import random
from collections import deque

import torch
from torch import nn

buffer = deque(maxlen=64)
q = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 4)).cuda()
opt = torch.optim.Adam(q.parameters())
for t in range(150):
    state = torch.randn(32)
    buffer.append((state, random.random()))
    batch = random.sample(list(buffer), min(16, len(buffer)))
    states = torch.stack([s for s, _ in batch]).cuda()
    rewards = torch.tensor([r for _, r in batch]).cuda()
    loss = (q(states).max(1).values - rewards).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
