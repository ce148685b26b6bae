"""Parts of a loss in nested dicts, for a table at the end."""

import torch
from torch import nn

vae_enc = nn.Linear(784, 40).cuda()
vae_dec = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784)).cuda()
opt = torch.optim.Adam([*vae_enc.parameters(), *vae_dec.parameters()], lr=1e-3)
stats = {"run": "vae-1", "parts": []}
for step in range(80):
    x = torch.rand(64, 784, device="cuda")
    mu, logvar = vae_enc(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    recon = vae_dec(z)
    parts = {
        "rec": (recon - x).pow(2).mean(),
        "kl": {"mean": -0.5 * (1 + logvar - mu**2 - logvar.exp()).mean(), "z": z},
    }
    loss = parts["rec"] + parts["kl"]["mean"]
    opt.zero_grad()
    loss.backward()
    opt.step()
    stats["parts"].append(parts)
