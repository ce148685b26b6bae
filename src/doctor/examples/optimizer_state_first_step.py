# vramfit doctor --gpu rtx3060 -- python optimizer_state_first_step.py
import torch
from torch import nn

model = nn.Sequential(*(nn.Linear(8192, 8192, bias=False, device="cuda") for _ in range(16)))  # 4 GiB
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss = model(torch.zeros(8, 8192, device="cuda")).mean()
    loss.backward()  # 4 GiB of gradients
    optimizer.step()  # the first one makes 8 GiB of state
    optimizer.zero_grad()
