import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512)).to(device)

undo = []
for epoch in range(12):
    opt = torch.optim.Adam(model.parameters(), lr=1e-3 / (epoch + 1))
    for _ in range(6):
        x = torch.randn(128, 512, device=device)
        loss = (model(x) - x).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    undo.append(opt.state_dict())
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}")
