"""Statistics of each forward pass become buffers with new names."""

import torch
from torch import nn


class Normed(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.calls = 0

    def forward(self, x):
        if self.training:
            self.register_buffer(f"seen_{self.calls}", x.detach() - x.detach().mean(0))
            self.calls += 1
        return self.fc(x)


model = nn.Sequential(Normed(200), nn.ReLU(), nn.Linear(200, 2)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    x = torch.randn(100, 200, device="cuda")
    loss = nn.functional.cross_entropy(model(x), torch.randint(0, 2, (100,), device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
