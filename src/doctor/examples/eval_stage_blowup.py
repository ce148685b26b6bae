# vramfit doctor --gpu rtx3060 -- python eval_stage_blowup.py
import torch
from torch import nn

model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 19, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train() -> None:
    model.train()
    for _ in range(4):
        loss = model(torch.zeros(4, 3, 512, 512, device="cuda")).mean()  # crops
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def validate() -> None:
    model.eval()
    with torch.no_grad():
        for _ in range(4):
            model(torch.zeros(2, 3, 4096, 4096, device="cuda"))  # whole images


train()
validate()
