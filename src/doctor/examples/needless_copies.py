# vramfit doctor --gpu rtx3060 -- python needless_copies.py
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 512 * 512, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images in DataLoader([torch.zeros(3, 512, 512)] * 1024, batch_size=256):
    inputs = images.cuda()
    loss = model(inputs).mean() + 0 * images.cuda().mean()  # the same batch a second time
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
