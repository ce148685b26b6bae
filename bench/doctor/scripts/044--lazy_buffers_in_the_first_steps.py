import torch
from torch import nn

model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, 10)
).cuda()
opt = torch.optim.Adam(model.parameters())
grids = {}
for step in range(150):
    size = 32 + 4 * (step % 8)
    if size not in grids:
        axis = torch.linspace(-1, 1, size, device="cuda")
        grids[size] = torch.stack(torch.meshgrid(axis, axis, indexing="ij"))
    x = torch.randn(16, 3, size, size, device="cuda")
    x[:, :2] += grids[size]
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 10, (16,), device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
