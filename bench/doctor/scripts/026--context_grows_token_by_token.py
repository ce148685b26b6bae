"""Training on its own output: the context gets a token longer each step and is never cut."""

import torch
from torch import nn

vocab, width = 1000, 64
embed = nn.Embedding(vocab, width).cuda()
layer = nn.TransformerEncoderLayer(width, 4, 128, batch_first=True).cuda()
head = nn.Linear(width, vocab).cuda()
opt = torch.optim.Adam([*embed.parameters(), *layer.parameters(), *head.parameters()])
tokens = torch.randint(0, vocab, (4, 8), device="cuda")
for step in range(120):
    logits = head(layer(embed(tokens)))
    loss = nn.functional.cross_entropy(logits[:, :-1].reshape(-1, vocab), tokens[:, 1:].reshape(-1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    new = torch.randint(0, vocab, (4, 1), device="cuda")
    tokens = torch.cat([tokens, new], dim=1)
