"""Two models that are trained in turns."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)).cuda()
critic = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1)).cuda()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-4, betas=(0.5, 0.9))
optimizer_c = torch.optim.Adam(critic.parameters(), lr=1e-4, betas=(0.5, 0.9))
noise = torch.randn(512, 64).cuda()

for (real,) in DataLoader(TensorDataset(torch.randn(1024, 256)), batch_size=512):
    optimizer_c.zero_grad()
    fake = generator(noise).detach()
    loss_c = critic(fake).mean() - critic(real.cuda()).mean()
    loss_c.backward()
    optimizer_c.step()

    optimizer_g.zero_grad()
    loss_g = -critic(generator(noise)).mean()
    loss_g.backward()
    optimizer_g.step()

print("weights", [round(float(p.double().abs().sum()), 3) for p in [*generator.parameters(), *critic.parameters()]])
