import torch
from torch import nn

device = "cuda"
torch.manual_seed(0)
query = nn.Linear(64, 64).to(device)
value = nn.Linear(64, 64).to(device)
opt = torch.optim.Adam([*query.parameters(), *value.parameters()], lr=1e-3)

mask_cache = {}


def soft_mask(length, temperature):
    key = (length, temperature)
    if key not in mask_cache:
        place = torch.arange(length, device=device)
        mask_cache[key] = torch.exp(-(place[:, None] - place[None, :]).abs() / temperature)
    return mask_cache[key]


temperature = 20.0
for step in range(60):
    x = torch.randn(4, 512, 64, device=device)
    scores = query(x) @ x.transpose(1, 2) / 8 * soft_mask(512, temperature)
    loss = (scores.softmax(-1) @ value(x) - x).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    temperature *= 0.98
    if step % 20 == 19:
        print(f"step {step + 1}: loss {loss.item():.4f}, temperature {temperature:.3f}")
