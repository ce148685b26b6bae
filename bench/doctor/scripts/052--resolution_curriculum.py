import torch
from torch import nn

net = nn.Sequential(
    nn.Conv2d(3, 24, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(24, 24, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(24, 10),
).cuda()
opt = torch.optim.Adam(net.parameters())
for size, steps in ((32, 20), (48, 20), (64, 100)):
    for _ in range(steps):
        x = torch.randn(16, 3, size, size, device="cuda")
        loss = nn.functional.cross_entropy(net(x), torch.randint(0, 10, (16,), device="cuda"))
        opt.zero_grad()
        loss.backward()
        opt.step()
