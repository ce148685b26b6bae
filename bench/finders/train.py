"""The job as people write it: `python train.py --batch-size 16`. What `vramfit sweep` and `fit` are given."""

from __future__ import annotations

import argparse

import torch
from network import make_loader, make_network
from torch import nn


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    model = make_network().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step, (images, labels) in enumerate(make_loader(args.batch_size, args.size)):
        loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step + 1 == args.steps:
            break


if __name__ == "__main__":
    main()
