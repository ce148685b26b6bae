"""Bad batches are skipped and their errors kept for a report; an error holds the frames it came through."""

import torch
from torch import nn

body = nn.Sequential(nn.Linear(256, 512), nn.ReLU()).cuda()
head = nn.Linear(512, 8).cuda()
opt = torch.optim.Adam([*body.parameters(), *head.parameters()])
failures = []


def compute_loss(x, number):
    features = body(x)
    if number % 3 == 0:
        raise ValueError(f"batch {number} has no labels")
    return head(features).pow(2).mean()


for number in range(120):
    x = torch.randn(128, 256, device="cuda")
    try:
        loss = compute_loss(x, number)
    except ValueError as error:
        failures.append(error)
        continue
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(failures), "batches left out")
