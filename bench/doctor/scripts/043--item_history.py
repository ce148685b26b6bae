import torch
from torch import nn

losses, accuracies = [], []
model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 26 * 26, 10)).cuda()
opt = torch.optim.Adam(model.parameters())
for step in range(100):
    x, y = torch.randn(64, 1, 28, 28, device="cuda"), torch.randint(0, 10, (64,), device="cuda")
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
    accuracies.append((logits.argmax(1) == y).float().mean().item())
print(sum(losses) / len(losses))
