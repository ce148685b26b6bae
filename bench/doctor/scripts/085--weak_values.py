import collections
import weakref

import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(512, 512), nn.Tanh()).to(device)
head = nn.Linear(512, 10).to(device)
opt = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.01)

seen = weakref.WeakValueDictionary()
recent = collections.deque(maxlen=4)
for step in range(70):
    x = torch.randn(512, 512, device=device)
    y = torch.randint(0, 10, (512,), device=device)
    hidden = encoder(x)
    loss = nn.functional.cross_entropy(head(hidden), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    kept = hidden.detach()
    seen[step] = kept
    recent.append(kept)
    if step % 15 == 14:
        print(f"step {step + 1}: seen {len(seen)}, loss {loss.item():.4f}")
