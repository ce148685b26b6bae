import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256)).to(device)
opt = torch.optim.SGD(model.parameters(), lr=0.01)

all_outputs = []
all_losses = []
for epoch in range(10):
    model.train()
    for _ in range(6):
        x = torch.randn(256, 512, device=device)
        y = torch.randint(0, 256, (256,), device=device)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        all_losses.append(loss.detach().cpu())
    model.eval()
    with torch.no_grad():
        for _ in range(4):
            all_outputs.append(model(torch.randn(512, 512, device=device)).cpu())
    print(f"epoch {epoch + 1}: loss {all_losses[-1]:.4f}, kept {sum(len(o) for o in all_outputs)}")
