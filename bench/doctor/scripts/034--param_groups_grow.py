"""A new prompt per task, each added to the same optimizer, with the state of all before it."""

import torch
from torch import nn

body = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
opt = torch.optim.Adam(body.parameters(), lr=1e-3)
for step in range(120):
    if step % 4 == 0:
        prompt = nn.Parameter(torch.zeros(512, 256, device="cuda"))
        opt.add_param_group({"params": [prompt]})
    x = torch.randn(512, 256, device="cuda")
    loss = nn.functional.cross_entropy(body(x + prompt), torch.randint(0, 10, (512,), device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
