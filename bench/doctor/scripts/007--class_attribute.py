"""Activations for a look at sparsity: the list belongs to the class, not to an instance."""

import torch
from torch import nn


class Block(nn.Module):
    activations = []

    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        x = torch.relu(self.fc(x))
        self.activations.append(x)
        return x


model = nn.Sequential(Block(128), Block(128), nn.Linear(128, 4)).cuda()
opt = torch.optim.Adam(model.parameters(), lr=3e-4)
for step in range(120):
    x = torch.randn(32, 128, device="cuda")
    target = torch.randint(0, 4, (32,), device="cuda")
    loss = nn.functional.cross_entropy(model(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
