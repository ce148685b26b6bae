import torch
from torch import nn

model = nn.Sequential(nn.Linear(100, 400), nn.ReLU(), nn.Dropout(0.2), nn.Linear(400, 50)).cuda()
opt = torch.optim.Adam(model.parameters())
for epoch in range(5):
    model.train()
    for _ in range(20):
        loss = nn.functional.cross_entropy(
            model(torch.randn(64, 100, device="cuda")), torch.randint(0, 50, (64,), device="cuda")
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    hits = total = 0
    with torch.no_grad():
        for _ in range(10):
            x, y = torch.randn(256, 100, device="cuda"), torch.randint(0, 50, (256,), device="cuda")
            hits += (model(x).argmax(1) == y).sum().item()
            total += y.numel()
    print(epoch, hits / total)
