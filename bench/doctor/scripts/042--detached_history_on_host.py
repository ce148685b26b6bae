import torch
from torch import nn

model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 64)).cuda()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
embeddings = []
for step in range(100):
    x = torch.randn(256, 512, device="cuda")
    out = model(x)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    embeddings.append(out.detach().cpu())
print(torch.cat(embeddings).shape)
