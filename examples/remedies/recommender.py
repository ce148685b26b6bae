"""Embeddings of users and items are nearly all weights, and a batch uses few of their rows."""

from __future__ import annotations

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", default="SGD", choices=["SGD", "Adam"])
asked = parser.parse_args()

USERS, ITEMS, WIDTH = 1_500_000, 500_000, 64


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, WIDTH), nn.Embedding(ITEMS, WIDTH)
        self.head = nn.Sequential(nn.Linear(2 * WIDTH, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, users: torch.Tensor, items: torch.Tensor) -> torch.Tensor:
        return self.head(torch.cat([self.users(users), self.items(items)], 1)).squeeze(1)


model = Recommender().cuda()
optimizer = getattr(torch.optim, asked.optimizer)(model.parameters(), lr=0.01)
clicks = 65536
data = torch.utils.data.TensorDataset(
    torch.randint(0, USERS, (clicks,)), torch.randint(0, ITEMS, (clicks,)), torch.rand(clicks).round()
)
for users, items, liked in torch.utils.data.DataLoader(data, batch_size=8192, shuffle=True):
    loss = nn.functional.binary_cross_entropy_with_logits(model(users.cuda(), items.cuda()), liked.cuda())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
