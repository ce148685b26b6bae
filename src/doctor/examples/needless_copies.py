# vramfit doctor --gpu rtx3060 -- python needless_copies.py
import torch
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * 512 * 512, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        saved = images.clone()  # "to be safe": nobody changes either of them
        return self.layer(images.flatten(1)) + self.layer(saved.flatten(1))


model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for images in DataLoader([torch.zeros(3, 512, 512)] * 512, batch_size=64):
    loss = model(images.cuda()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
