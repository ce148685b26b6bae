import torch
from torch import nn

vocab = 2000
model = nn.ModuleDict(
    {"emb": nn.Embedding(vocab, 64), "rnn": nn.GRU(64, 128, batch_first=True), "out": nn.Linear(128, vocab)}
).cuda()
opt = torch.optim.Adam(model.parameters())
buckets = [16, 32, 48, 64, 96, 128]
for epoch in range(4):
    for length in buckets:
        for _ in range(5):
            tokens = torch.randint(0, vocab, (8, length), device="cuda")
            hidden, _ = model["rnn"](model["emb"](tokens))
            logits = model["out"](hidden[:, :-1])
            loss = nn.functional.cross_entropy(logits.reshape(-1, vocab), tokens[:, 1:].reshape(-1))
            opt.zero_grad()
            loss.backward()
            opt.step()
