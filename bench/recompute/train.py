"""Four steps of one of four networks on made-up data: resnet, densenet, unet or former (a transformer), and a batch."""

from __future__ import annotations

import sys

import torch
import torch.nn.functional as F
import torchvision
from torch import nn


def two_convolutions(few: int, many: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(few, many, 3, padding=1), nn.BatchNorm2d(many), nn.ReLU(inplace=True)),
        *(nn.Conv2d(many, many, 3, padding=1), nn.BatchNorm2d(many), nn.ReLU(inplace=True)),
    )


class Unet(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width, 8 * width]
        self.down = nn.ModuleList(map(two_convolutions, [3, *widths[:3]], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * few, few, 2, 2) for few in reversed(widths[:3]))
        self.merge = nn.ModuleList(two_convolutions(2 * few, few) for few in reversed(widths[:3]))
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skips = []
        for number, block in enumerate(self.down):
            x = block(x)
            if number < 3:
                skips.append(x)
                x = F.max_pool2d(x, 2)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), skips.pop()], 1))
        return self.head(x).mean((2, 3))


class Former(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(64, 512)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(512, 8, 2048, 0.1, batch_first=True), 8)
        self.head = nn.Linear(512, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.embed(x)).mean(1))


MODELS = {
    "resnet": (lambda: torchvision.models.resnet50(num_classes=10), (3, 224, 224)),
    "densenet": (lambda: torchvision.models.densenet121(num_classes=10), (3, 224, 224)),
    "unet": (Unet, (3, 256, 256)),
    "former": (Former, (512, 64)),
}

kind, batch = sys.argv[1], int(sys.argv[2])
make, shape = MODELS[kind]
torch.manual_seed(0)
model = make().cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.utils.data.TensorDataset(torch.randn(batch * 4, *shape), torch.randint(0, 2, (batch * 4,)))
for x, y in torch.utils.data.DataLoader(data, batch_size=batch):
    optimizer.zero_grad()
    F.cross_entropy(model(x.cuda()), y.cuda()).backward()
    optimizer.step()
