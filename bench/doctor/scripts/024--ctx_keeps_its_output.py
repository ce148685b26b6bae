"""A Function of one's own that keeps its output as an attribute, a cycle, while the collector is off for speed."""

import gc

import torch
from torch import nn

gc.disable()


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * torch.sigmoid(x)
        ctx.x = x
        ctx.y = y
        return y

    @staticmethod
    def backward(ctx, grad):
        s = torch.sigmoid(ctx.x)
        return grad * (ctx.y + s * (1 - ctx.y))


first, second = nn.Linear(128, 512).cuda(), nn.Linear(512, 1).cuda()
opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.01)
for step in range(100):
    x = torch.randn(64, 128, device="cuda")
    loss = second(Swish.apply(first(x))).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
