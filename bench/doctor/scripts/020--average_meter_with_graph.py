"""The AverageMeter of a hundred repositories, given tensors."""

import torch
from torch import nn


class AverageMeter:
    def __init__(self):
        self.val, self.sum, self.count = 0, 0, 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


losses, psnr = AverageMeter(), AverageMeter()
model = nn.Sequential(nn.Conv1d(4, 32, 5), nn.ReLU(), nn.Conv1d(32, 4, 5)).cuda()
opt = torch.optim.Adam(model.parameters())
for i in range(90):
    signal = torch.randn(8, 4, 256, device="cuda")
    out = model(signal)
    loss = out.pow(2).mean() + out.abs().max()
    losses.update(loss, signal.size(0))
    psnr.update(-10 * (out - out.detach().mean()).pow(2).mean().log10(), signal.size(0))
    opt.zero_grad()
    loss.backward()
    opt.step()
