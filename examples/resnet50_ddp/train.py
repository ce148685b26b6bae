"""Trains ResNet-50 under DistributedDataParallel, one process a card; the batch is that of all cards.

python train.py --cards 8 --batch-size 2048
"""

from __future__ import annotations

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

try:
    from torchvision import models
except ImportError:
    sys.exit("this example needs torchvision: pip install torchvision")


class RandomImages(Dataset):
    def __len__(self) -> int:
        return 1_281_167

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.rand(3, 1, 1).expand(3, 224, 224), index % 1000


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=2048, help="of all cards together")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--port", default="29533")
    return parser.parse_args()


def train(rank: int, args: argparse.Namespace) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": args.port}
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=args.cards)
    model = DistributedDataParallel(models.resnet50().cuda(), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.8, momentum=0.9, weight_decay=1e-4)
    data = RandomImages()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, args.batch_size // args.cards, sampler=sampler, drop_last=True)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    arguments = parse_args()
    torch.multiprocessing.spawn(train, (arguments,), nprocs=arguments.cards)
