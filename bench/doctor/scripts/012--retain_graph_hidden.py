"""A recurrent network over a stream: the state is carried with its whole past, which retain_graph allows."""

import torch
from torch import nn

cell = nn.GRUCell(32, 64).cuda()
head = nn.Linear(64, 1).cuda()
opt = torch.optim.SGD(head.parameters(), lr=0.01)
state = torch.zeros(16, 64, device="cuda")
for t in range(60):
    x = torch.randn(16, 32, device="cuda")
    state = cell(x, state)
    loss = (head(state) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()
    if t % 10 == 0:
        print(t, "steps of the stream")
