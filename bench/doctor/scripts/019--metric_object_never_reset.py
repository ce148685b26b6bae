"""A metric that is updated in each training step and computed once at the very end."""

import torch
from torch import nn


class Accuracy:
    def __init__(self):
        self.preds, self.targets = [], []

    def update(self, preds, targets):
        self.preds.append(preds.detach())
        self.targets.append(targets)

    def compute(self):
        return (torch.cat(self.preds).argmax(1) == torch.cat(self.targets)).float().mean()


metric = Accuracy()
model = nn.Sequential(nn.Linear(50, 200), nn.ReLU(), nn.Linear(200, 5000)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    x, y = torch.randn(40, 50, device="cuda"), torch.randint(0, 5000, (40,), device="cuda")
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    metric.update(logits, y)
print(metric.compute())
