# vramfit doctor --gpu rtx3060 -- python no_grad_missing.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(*(nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(16))).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = [torch.zeros(1024)] * 131072 * 2
for batch in DataLoader(rows[:8192], batch_size=1024):
    loss = model(batch.cuda()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def validate() -> None:
    model.eval()  # this does not turn gradients off
    for batch in DataLoader(rows, batch_size=131072):
        print(model(batch.cuda()).shape)


validate()
