import torch
from torch import nn

model = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 256, batch_first=True), 2).cuda()
opt = torch.optim.AdamW(model.parameters(), lr=1e-4)
accumulate = 8
opt.zero_grad()
for i in range(96):
    x = torch.randn(4, 32, 64, device="cuda")
    loss = (model(x) - x).pow(2).mean() / accumulate
    loss.backward()
    if (i + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
