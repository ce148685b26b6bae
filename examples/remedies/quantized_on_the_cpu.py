"""Weights of 8 bits as PyTorch's dynamic quantization makes them, which a card has no kernels for."""

from __future__ import annotations

import torch
from torch import nn

model = nn.Sequential(*(nn.Sequential(nn.Linear(4096, 4096), nn.ReLU()) for _ in range(20))).eval()
small = torch.ao.quantization.quantize_dynamic(model[:1], {nn.Linear}, dtype=torch.qint8)
print(type(small[0][0]).__name__, "instead of", type(model[0][0]).__name__)
model = model.cuda()
data = torch.utils.data.TensorDataset(torch.randn(64, 4096))
with torch.no_grad():
    for (samples,) in torch.utils.data.DataLoader(data, batch_size=16):
        print(model(samples.cuda()).argmax(1).tolist())
