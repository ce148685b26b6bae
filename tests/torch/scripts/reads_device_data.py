"""A script that lets device data decide: where it does is what vramfit must say."""

from __future__ import annotations

import torch

x = (torch.randn(512, 512, device="cuda") @ torch.randn(512, 512, device="cuda"))[0]  # too much to be computed
known = torch.tensor([1.0, 0.0]).cuda()
loss = x.sum()
print(loss.item())  # a number that is only printed
print(known.tolist())  # data that came from the host
kept = x[x > 0]  # a size
if (x > 3).any():  # a branch
    kept = kept[:1]
count = (x > 0).sum().item()  # a whole number
