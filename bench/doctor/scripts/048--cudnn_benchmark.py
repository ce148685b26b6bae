import torch
from torch import nn

torch.backends.cudnn.benchmark = True
net = nn.Sequential(
    nn.Conv2d(3, 32, 7, stride=2, padding=3),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.Conv2d(32, 64, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(64, 10),
).cuda()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
for step in range(80):
    x = torch.randn(32, 3, 64, 64, device="cuda")
    loss = nn.functional.cross_entropy(net(x), torch.randint(0, 10, (32,), device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
