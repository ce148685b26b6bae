import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for p in model.parameters():
    p.trace = ()

for step in range(80):
    x = torch.randn(128, 512, device=device)
    loss = (model(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2 == 0:
        for p in model.parameters():
            p.trace = (*p.trace, p.grad)
    if step % 20 == 19:
        norms = [g.norm().item() for g in model[0].weight.trace[-3:]]
        print(f"step {step + 1}: loss {loss.item():.4f}, norms {norms}")
