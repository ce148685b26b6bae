"""Fine-tunes ViT-L/16 on images of 224 x 224 in 10 classes, in float32 with Adam: the job below S. Raschka's ladder.

His scripts (github.com/rasbt/pytorch-memory-optim) resize CIFAR-10 and load weights of ImageNet; here images are made
up, weights are random, and the epoch has a few batches. Gradients go just before backward, as there. Evaluation has the
batches of 4 that it has there from the fourth script on; before that it is no peak.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import vit_l_16

CLASSES = 10


class Images(Dataset):
    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        if index >= self.count:
            raise IndexError(index)
        return torch.full((3, 224, 224), index % CLASSES / CLASSES), index % CLASSES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--evaluation-batch-size", type=int, default=4)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    model = vit_l_16(weights=None)
    model.heads.head = nn.Linear(1024, CLASSES)
    model.cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-5)
    model.train()
    for images, labels in DataLoader(Images(options.batch_size * options.steps), options.batch_size):
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    right = torch.zeros((), device="cuda")
    with torch.no_grad():
        for images, labels in DataLoader(Images(options.batch_size), options.evaluation_batch_size):
            right += (model(images.cuda()).argmax(1) == labels.cuda()).sum()
    print(f"right: {float(right):.0f}")


if __name__ == "__main__":
    main()
