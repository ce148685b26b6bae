"""Pipelines as generators: each is advanced once and kept, with the activations in its frame."""

import torch
from torch import nn

encoder = nn.Sequential(nn.Linear(96, 384), nn.GELU()).cuda()
decoder = nn.Linear(384, 96).cuda()
opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.05)
streams = []


def stages(batch):
    hidden = encoder(batch)
    loss = (decoder(hidden) - batch).pow(2).mean()
    yield loss
    yield hidden.mean()


for step in range(80):
    stream = stages(torch.randn(64, 96, device="cuda"))
    loss = next(stream)
    opt.zero_grad()
    loss.backward()
    opt.step()
    streams.append(stream)
