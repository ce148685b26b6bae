import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)

hard = []
usual = None
for step in range(80):
    x = torch.randn(512, 512, device=device)
    y = torch.randint(0, 10, (512,), device=device)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    value = loss.item()
    usual = value if usual is None else 0.9 * usual + 0.1 * value
    if value > usual:
        hard.append((x, y))
    if step % 20 == 19:
        print(f"step {step + 1}: loss {value:.4f}, hard {len(hard)}")
