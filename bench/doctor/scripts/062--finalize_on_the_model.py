import weakref

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)


def flush(step, features):
    print(f"step {step}: mean feature {features.mean().item():.4f}")


for step in range(60):
    x = torch.randn(512, 512, device=device)
    y = torch.randint(0, 10, (512,), device=device)
    features = model[1](model[0](x))
    loss = nn.functional.cross_entropy(model[2](features), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    weakref.finalize(model, flush, step, features.detach()).atexit = False
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
