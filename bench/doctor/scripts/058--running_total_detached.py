import torch
from torch import nn

model = nn.Sequential(nn.Conv1d(8, 32, 9, padding=4), nn.ReLU(), nn.Conv1d(32, 8, 9, padding=4)).cuda()
opt = torch.optim.Adam(model.parameters())
total = torch.zeros((), device="cuda")
for step in range(120):
    x = torch.randn(16, 8, 200, device="cuda")
    loss = (model(x) - x).pow(2).mean()
    total += loss.detach()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("mean", (total / 120).item())
