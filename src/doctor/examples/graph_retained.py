# vramfit doctor --gpu rtx3060 -- python graph_retained.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for batch in DataLoader([torch.zeros(1024)] * 4096 * 64, batch_size=4096):
    loss = model(batch.cuda()).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
    total += loss  # a tensor: it keeps the graph of every step
