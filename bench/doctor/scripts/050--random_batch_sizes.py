import random

import torch
from torch import nn

random.seed(3)
model = nn.Sequential(nn.Linear(400, 800), nn.ReLU(), nn.Linear(800, 400)).cuda()
opt = torch.optim.RMSprop(model.parameters())
for step in range(150):
    x = torch.randn(random.randint(20, 400), 400, device="cuda")
    loss = nn.functional.smooth_l1_loss(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
