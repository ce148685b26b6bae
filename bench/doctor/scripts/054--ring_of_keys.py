import torch
from torch import nn

encoder = nn.Sequential(nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 128)).cuda()
opt = torch.optim.SGD(encoder.parameters(), lr=0.03)
ring = torch.randn(4096, 128, device="cuda")
at = 0
for step in range(100):
    a, b = torch.randn(256, 256, device="cuda"), torch.randn(256, 256, device="cuda")
    q = encoder(a)
    with torch.no_grad():
        k = encoder(b)
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ ring.T], dim=1)
    loss = nn.functional.cross_entropy(logits, torch.zeros(256, dtype=torch.long, device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
    ring[at : at + 256] = k
    at = (at + 256) % 4096
