import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 768), nn.GELU(), nn.Linear(768, 512)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
steps = 90

kept = {}
for step in range(steps):
    x = torch.randn(128, 512, device=device)
    loss = (model(x) - x.roll(1, 1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step >= steps // 2 and step % 3 == 0:
        kept[step] = [p.detach().clone() for p in model.parameters()]
    if step % 15 == 14:
        print(f"step {step + 1}: loss {loss.item():.4f}")

with torch.no_grad():
    for number, p in enumerate(model.parameters()):
        p.copy_(torch.stack([weights[number] for weights in kept.values()]).mean(0))
