"""A tree of search nodes that point at each other, while the collector is off for speed."""

import gc

import torch
from torch import nn

gc.disable()


class Node:
    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)


policy = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64)).cuda()
opt = torch.optim.SGD(policy.parameters(), lr=0.01)
for episode in range(100):
    root = Node(torch.randn(128, 64, device="cuda"))
    leaf = root
    for depth in range(3):
        leaf = Node(policy(leaf.value), leaf)
    loss = leaf.value.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
