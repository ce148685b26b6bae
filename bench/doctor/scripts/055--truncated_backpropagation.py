import torch
from torch import nn

rnn = nn.LSTM(32, 64, batch_first=True).cuda()
head = nn.Linear(64, 32).cuda()
opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
state = None
for chunk in range(100):
    x = torch.randn(8, 16, 32, device="cuda")
    out, state = rnn(x, state)
    state = tuple(s.detach() for s in state)
    loss = (head(out) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
