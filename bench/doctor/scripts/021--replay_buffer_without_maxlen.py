"""Reinforcement learning with a buffer that has no capacity, on the card."""

import random
from collections import deque

import torch
from torch import nn


def env_step(state, action):
    return torch.randn_like(state), random.random()


q = nn.Sequential(nn.Flatten(), nn.Linear(4 * 42 * 42, 64), nn.ReLU(), nn.Linear(64, 4)).cuda()
opt = torch.optim.Adam(q.parameters(), lr=1e-4)
buffer = deque()
state = torch.randn(1, 4, 42, 42, device="cuda")
for t in range(150):
    action = random.randrange(4)
    next_state, reward = env_step(state, action)
    buffer.append((state, action, reward, next_state))
    state = next_state
    batch = random.sample(list(buffer), min(8, len(buffer)))
    states = torch.cat([b[0] for b in batch])
    rewards = torch.tensor([b[2] for b in batch], device="cuda")
    loss = (q(states).max(1).values - rewards).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
