"""A progress bar that remembers each postfix to draw them again."""

import torch
from torch import nn


class Progress:
    def __init__(self, iterable):
        self.iterable = iterable
        self.rows = []

    def __iter__(self):
        yield from self.iterable

    def set_postfix(self, **values):
        self.rows.append(values)


model = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).cuda()
opt = torch.optim.Adam(model.parameters())
bar = Progress(range(60))
for i in bar:
    x = torch.randn(8, 32, 64, device="cuda")
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    bar.set_postfix(loss=loss, norm=model(x).norm())
