"""A little trainer whose log keeps what it is given."""

from collections import defaultdict

import torch
from torch import nn


class LitModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.logged = defaultdict(list)
        self.encoder = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256))

    def log(self, name, value):
        self.logged[name].append(value)

    def training_step(self, batch):
        out = self.encoder(batch)
        rec = (out - batch).pow(2).mean()
        self.log("train/rec", rec)
        self.log("train/spread", out.std(0))
        return rec


class Trainer:
    def fit(self, module, steps):
        opt = torch.optim.AdamW(module.parameters())
        for _ in range(steps):
            loss = module.training_step(torch.randn(128, 256, device="cuda"))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()


Trainer().fit(LitModule().cuda(), 90)
