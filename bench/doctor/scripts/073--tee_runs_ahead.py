import itertools

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)


def batches():
    while True:
        yield torch.randn(512, 512, device=device), torch.randint(0, 10, (512,), device=device)


stream, preview = itertools.tee(batches())
width = next(preview)[0].shape[1]
model = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)

for step, (x, y) in zip(range(60), stream):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}")
