# vramfit doctor --gpu rtx3060 -- python logits_vocab_blowup.py
import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY = 128_256
embed, lm_head = nn.Embedding(VOCABULARY, 256).cuda(), nn.Linear(256, VOCABULARY, bias=False).cuda()
tokens = torch.zeros(8, 1024, dtype=torch.long, device="cuda")
for _ in range(3):
    logits = lm_head(embed(tokens)).float()  # 8192 tokens x 128256 words x 4 bytes = 3.9 GiB
    loss = F.cross_entropy(logits.view(-1, VOCABULARY), tokens.view(-1))
    loss.backward()
