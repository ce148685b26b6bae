import copy

import torch
from torch import nn

model = nn.Sequential(nn.Linear(200, 800), nn.ReLU(), nn.Linear(800, 10)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
best_state = None
for epoch in range(10):
    for _ in range(12):
        loss = nn.functional.cross_entropy(
            model(torch.randn(64, 200, device="cuda")), torch.randint(0, 10, (64,), device="cuda")
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    best_state = copy.deepcopy(model.state_dict())
model.load_state_dict(best_state)
