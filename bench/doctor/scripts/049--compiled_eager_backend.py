import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)).cuda()
step_fn = torch.compile(lambda x: (model(x) - x).pow(2).mean(), backend="aot_eager")
opt = torch.optim.AdamW(model.parameters())
for step in range(60):
    loss = step_fn(torch.randn(64, 256, device="cuda"))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("done")
