# vramfit doctor --gpu rtx3060 -- python leak_growth.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
history = []
for batch in DataLoader([torch.zeros(1024)] * 4096 * 64, batch_size=4096):
    out = model(batch.cuda())
    loss = out.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(out.detach())  # 64 MiB more in every step
