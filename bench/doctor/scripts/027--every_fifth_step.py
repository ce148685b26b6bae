"""Pictures for a grid, taken every fifth step of a GAN; detached, and on the card."""

import torch
from torch import nn

generator = nn.Sequential(nn.Linear(32, 512), nn.ReLU(), nn.Linear(512, 3 * 32 * 32), nn.Tanh()).cuda()
critic = nn.Sequential(nn.Linear(3 * 32 * 32, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1)).cuda()
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
samples = []
for step in range(150):
    noise = torch.randn(64, 32, device="cuda")
    fake = generator(noise)
    loss_d = critic(fake.detach()).mean() - critic(torch.randn(64, 3072, device="cuda")).mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    loss_g = -critic(generator(noise)).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 5 == 0:
        samples.append(fake.detach())
