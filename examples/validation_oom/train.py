"""Trains a 21-million-parameter scene parser. Training fits a GTX 1070; validation is where it may die.

    python train.py --validation no-grad-missing

--validation chooses how validation is written:
    fixed             no_grad, metrics as counts: fits
    no-grad-missing   the forward pass keeps every activation for a backward pass that never comes
    gather            all logits are collected on the GPU for one metric at the end
    leftovers         the last training step's tensors are still referenced when validation starts
    pin-thread        the loader's pin thread prepares batches on the GPU, ahead of the loop
"""

from __future__ import annotations

import argparse
import contextlib
import functools
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from data import EagerBatch, RandomScenes
from model import SceneParser

VARIANTS = ("fixed", "no-grad-missing", "gather", "leftovers", "pin-thread")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--validation", choices=VARIANTS, default="no-grad-missing")
    parser.add_argument("--batch-size", type=int, default=10)
    parser.add_argument("--val-batch-size", type=int, default=28)
    parser.add_argument("--size", type=int, nargs=2, default=(768, 512), metavar=("W", "H"))
    parser.add_argument("--classes", type=int, default=19)
    parser.add_argument("--train-images", type=int, default=480)
    parser.add_argument("--val-images", type=int, default=480)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--save", type=Path, default=Path("runs/scene_parser.pt"))
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def build_loaders(args: argparse.Namespace) -> tuple[DataLoader, DataLoader]:
    size, on_gpu = tuple(args.size), args.device.startswith("cuda")
    options = dict(num_workers=args.workers, pin_memory=on_gpu)
    train = RandomScenes(args.train_images, size, args.classes)
    val = RandomScenes(args.val_images, size, args.classes)
    collate = functools.partial(EagerBatch, classes=args.classes) if args.validation == "pin-thread" else None
    return (
        DataLoader(train, args.batch_size, shuffle=True, drop_last=True, **options),
        DataLoader(val, args.val_batch_size, collate_fn=collate, **options),
    )


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor) -> tuple:
    logits = model(images)
    loss = F.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return logits, loss


def train_epoch(model: nn.Module, loader: DataLoader, optimizer: torch.optim.Optimizer, args) -> list:
    """Returns what the last step left behind: nothing, unless --validation leftovers."""
    model.train()
    kept: list = []
    for images, labels in loader:
        images, labels = images.to(args.device, non_blocking=True), labels.to(args.device, non_blocking=True)
        logits, loss = train_step(model, optimizer, images, labels)
        if args.validation == "leftovers":
            # Kept "for the log": inputs, logits and probabilities of the last few steps stay on the GPU.
            kept = [*kept[-3:], (images, logits, logits.softmax(1), loss)]
    return kept


def validate(model: nn.Module, loader: DataLoader, args: argparse.Namespace) -> float:
    """Pixel accuracy on the validation set."""
    model.eval()
    collected: list[tuple[Tensor, Tensor]] = []
    hits = torch.zeros((), device=args.device)
    pixels = 0
    without_grad = contextlib.nullcontext() if args.validation == "no-grad-missing" else torch.no_grad()
    with without_grad:
        for images, labels in loader:
            images, labels = images.to(args.device, non_blocking=True), labels.to(args.device, non_blocking=True)
            logits = model(images)
            if labels.dim() == 4:  # one-hot, from EagerBatch
                labels = labels.argmax(-1)
            if args.validation == "gather":
                collected.append((logits, labels))
            else:
                hits += (logits.argmax(1) == labels).sum()
                pixels += labels.numel()
    if collected:
        logits = torch.cat([pair[0] for pair in collected])
        labels = torch.cat([pair[1] for pair in collected])
        hits, pixels = (logits.argmax(1) == labels).sum(), labels.numel()
    return float(hits) / max(pixels, 1)


def main() -> None:
    args = parse_args()
    torch.manual_seed(0)
    train_loader, val_loader = build_loaders(args)
    model = SceneParser(args.classes).to(args.device)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        leftovers = train_epoch(model, train_loader, optimizer, args)
        print(f"epoch {epoch}: trained, {len(leftovers)} steps kept", flush=True)
        print(f"epoch {epoch}: accuracy {validate(model, val_loader, args):.4f}", flush=True)
        args.save.parent.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    main()
