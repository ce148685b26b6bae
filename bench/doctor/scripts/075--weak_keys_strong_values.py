import weakref

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(512, 256), nn.Tanh()).to(device)
head = nn.Linear(256, 10).to(device)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)


class Sample:
    def __init__(self):
        self.x = torch.randn(512, 512, device=device)
        self.y = torch.randint(0, 10, (512,), device=device)


features = weakref.WeakKeyDictionary()
for step in range(60):
    sample = Sample()
    hidden = encoder(sample.x)
    loss = nn.functional.cross_entropy(head(hidden), sample.y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    features[sample] = (sample, hidden.detach())
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}, samples {len(features)}")
