"""Trains PP-LiteSeg on street scenes.

    python train.py --batch-size 8 --crop-size 1024 512

Without --data a small synthetic dataset is drawn on first use.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from classes import CLASSES
from dataset import StreetScenes
from gpu_augment import GpuAugment
from losses import MultiHeadLoss, OhemCrossEntropy
from make_dataset import write_dataset
from metrics import ConfusionMatrix
from model import MODELS
from transforms import evaluation_transform, gpu_training_transform, training_transform

HERE = Path(__file__).resolve().parent


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with images/ and labels/ (default: a synthetic one)")
    parser.add_argument("--model", choices=MODELS, default="b", help="t: STDC1, b: STDC2")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--val-batch-size", type=int, default=2)
    parser.add_argument("--crop-size", type=int, nargs=2, default=(1024, 512), metavar=("W", "H"))
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.005)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--aux-weight", type=float, nargs=2, default=(1.0, 1.0), help="of the 1/16 and 1/32 heads")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpu-augment", action="store_true", help="flip and colour jitter on the GPU")
    parser.add_argument("--amp", action="store_true", help="fp16 autocast with loss scaling")
    parser.add_argument("--val-interval", type=int, default=1, help="epochs between validations")
    parser.add_argument("--save-dir", type=Path, default=Path("runs/pp_liteseg"))
    parser.add_argument("--resume", type=Path, help="a checkpoint to go on from")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def build_loaders(args: argparse.Namespace) -> tuple[DataLoader, DataLoader]:
    root = args.data
    if root is None:
        root = HERE / "data"
        if not root.is_dir():
            print(f"drawing a small dataset in {root}", flush=True)
            write_dataset(root, images=48, size=(1024, 512))
    crop = tuple(args.crop_size)
    transform = gpu_training_transform(crop) if args.gpu_augment else training_transform(crop)
    options = dict(num_workers=args.workers, pin_memory=args.device.startswith("cuda"))
    train = StreetScenes(root, "train", transform)
    val = StreetScenes(root, "val", evaluation_transform())
    return (
        DataLoader(train, args.batch_size, shuffle=True, drop_last=len(train) >= args.batch_size, **options),
        DataLoader(val, args.val_batch_size, **options),
    )


class Trainer:
    """Everything a checkpoint has to hold, and the two loops that change it."""

    def __init__(self, args: argparse.Namespace, steps_per_epoch: int) -> None:
        self.args = args
        self.device = torch.device(args.device)
        self.model = MODELS[args.model](len(CLASSES)).to(self.device)
        pixels = args.batch_size * args.crop_size[0] * args.crop_size[1]
        self.criterion = MultiHeadLoss(OhemCrossEntropy(min_kept=max(pixels // 16, 1)), (1.0, *args.aux_weight))
        self.augment = GpuAugment().to(self.device) if args.gpu_augment else None
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), args.lr, momentum=args.momentum, weight_decay=args.weight_decay
        )
        total = max(args.epochs * steps_per_epoch, 1)
        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(self.optimizer, total_iters=total, power=0.9)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=args.amp)
        self.epoch = 0
        self.best = 0.0

    def train_epoch(self, loader: DataLoader) -> float:
        """One pass over the training set; returns the mean loss."""
        self.model.train()
        total = torch.zeros((), device=self.device)
        for images, labels in loader:
            images = images.to(self.device, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
            if self.augment is not None:
                images, labels = self.augment(images, labels)
            with torch.autocast(self.device.type, torch.float16, enabled=self.args.amp):
                loss = self.criterion(self.model(images), labels)
            self.optimizer.zero_grad(set_to_none=True)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
            self.scheduler.step()
            total += loss.detach()
        return float(total) / max(len(loader), 1)

    @torch.no_grad()
    def validate(self, loader: DataLoader) -> float:
        """Mean intersection over union on the validation set."""
        self.model.eval()
        matrix = ConfusionMatrix(len(CLASSES))
        for images, labels in loader:
            images = images.to(self.device, non_blocking=True)
            labels = labels.to(self.device, non_blocking=True)
            with torch.autocast(self.device.type, torch.float16, enabled=self.args.amp):
                logits = self.model(images)
            matrix.update(logits.argmax(1), labels)
        return matrix.mean_iou()

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        state = {name: getattr(self, name).state_dict() for name in ("model", "optimizer", "scheduler", "scaler")}
        partial = path.with_suffix(".partial")
        torch.save(state | {"epoch": self.epoch, "best": self.best}, partial)
        partial.replace(path)

    def load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device, weights_only=True)
        for name in ("model", "optimizer", "scheduler", "scaler"):
            getattr(self, name).load_state_dict(state[name])
        self.epoch, self.best = state["epoch"], state["best"]


def main() -> None:
    args = parse_args()
    torch.manual_seed(args.seed)
    train_loader, val_loader = build_loaders(args)
    trainer = Trainer(args, len(train_loader))
    if args.resume:
        trainer.load(args.resume)
    parameters = sum(p.numel() for p in trainer.model.parameters())
    print(f"PP-LiteSeg-{args.model.upper()}: {parameters / 1e6:.2f} M parameters, {len(train_loader)} steps an epoch")

    while trainer.epoch < args.epochs:
        started = time.perf_counter()
        loss = trainer.train_epoch(train_loader)
        trainer.epoch += 1
        seconds = time.perf_counter() - started
        print(f"epoch {trainer.epoch}: loss {loss:.4f}, {seconds:.1f} s", flush=True)
        if trainer.epoch % args.val_interval == 0 or trainer.epoch == args.epochs:
            score = trainer.validate(val_loader)
            print(f"epoch {trainer.epoch}: mIoU {score:.4f}", flush=True)
            if score > trainer.best:
                trainer.best = score
                trainer.save(args.save_dir / "best.pt")
        trainer.save(args.save_dir / "last.pt")


if __name__ == "__main__":
    main()
