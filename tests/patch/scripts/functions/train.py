#!/usr/bin/env python3
"""The usual shape: arguments, a main(), the loops in a module beside it."""

import argparse

import torch
import torchvision
from engine import evaluate, train_one_epoch
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser(description="Train a small classifier")
    parser.add_argument("--batch-size", default=8, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    return parser.parse_args()


def main():
    args = get_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    images, labels = torch.randn(20, 3, 64, 64), torch.randint(0, 10, (20,))
    train_loader = DataLoader(TensorDataset(images, labels), batch_size=args.batch_size, num_workers=0)
    val_loader = DataLoader(
        TensorDataset(images, labels),
        batch_size=args.batch_size,
    )
    model = torchvision.models.squeezenet1_1(num_classes=10, dropout=0.0).to(device)
    criterion = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=0.01,
        momentum=0.9,  # as in the paper
    )
    for epoch in range(args.epochs):
        train_one_epoch(model, criterion, optimizer, train_loader, device)
        evaluate(model, criterion, val_loader, device)
    print("weights", [round(float(p.double().abs().sum()), 6) for p in model.parameters()])


if __name__ == "__main__":
    main()
