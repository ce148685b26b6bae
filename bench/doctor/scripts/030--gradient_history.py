"""All gradients of all steps, to look at their noise."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(128, 256), nn.Sigmoid(), nn.Linear(256, 10)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.5)
grad_history = []
for iteration in range(100):
    x, y = torch.randn(32, 128, device="cuda"), torch.randint(0, 10, (32,), device="cuda")
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    grad_history.append([p.grad.clone() for p in model.parameters()])
    opt.step()
