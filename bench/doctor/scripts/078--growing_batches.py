import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)

for step in range(75):
    batch = min(64 * (1 + step // 5), 512)
    x = torch.randn(batch, 512, device=device)
    y = torch.randint(0, 10, (batch,), device=device)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 15 == 14:
        print(f"step {step + 1}: batch {batch}, loss {loss.item():.4f}")
