"""The data set keeps every sample that was asked for, on the card."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slices(Dataset):
    def __init__(self, n):
        self.n = n
        self.cache = {}

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        if index not in self.cache:
            image = torch.rand(1, 64, 64)
            self.cache[index] = (image - image.mean()).cuda()
        return self.cache[index], index % 2


model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)).cuda()
opt = torch.optim.Adam(model.parameters())
for images, labels in DataLoader(Slices(1600), batch_size=16, shuffle=True):
    loss = nn.functional.cross_entropy(model(images), labels.cuda())
    opt.zero_grad()
    loss.backward()
    opt.step()
