import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def validation_loader():
    x = torch.randn(1024, 512, device=device)
    y = torch.randint(0, 10, (1024,), device=device)
    return DataLoader(TensorDataset(x, y), batch_size=256)


loaders = []
for epoch in range(12):
    model.train()
    for _ in range(6):
        x = torch.randn(256, 512, device=device)
        y = torch.randint(0, 10, (256,), device=device)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    loaders.append(validation_loader())
    right = 0
    with torch.no_grad():
        for x, y in loaders[-1]:
            right += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1}: loss {loss.item():.4f}, accuracy {right / 1024:.3f}")
