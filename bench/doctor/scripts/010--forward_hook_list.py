"""Features for a t-SNE, taken by a forward hook that is never told to stop."""

import torch
from torch import nn

features = []


def keep(module, inputs, output):
    features.append(output)


net = nn.Sequential(
    nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10)
).cuda()
net(torch.zeros(1, 3, 32, 32, device="cuda"))
net[2].register_forward_hook(keep)
sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    for batch in range(25):
        images = torch.randn(32, 3, 32, 32, device="cuda")
        labels = torch.randint(0, 10, (32,), device="cuda")
        sgd.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        sgd.step()
