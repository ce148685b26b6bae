"""The job as a LightningModule with Lightning's BatchSizeFinder: `--mode power` or `binsearch`."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import BatchSizeFinder
from network import make_loader, make_network
from torch import Tensor, nn
from torch.utils.data import DataLoader


class Job(lightning.LightningModule):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.batch_size, self.size = 2, size
        self.network = make_network()
        self.tried: list[int] = []
        self.steps_of: Counter[int] = Counter()  # of each batch size

    def train_dataloader(self) -> DataLoader:
        return make_loader(self.batch_size, self.size)

    def on_train_start(self) -> None:
        self.tried.append(self.batch_size)

    def on_train_batch_end(self, *_: Any) -> None:
        self.steps_of[self.batch_size] += 1

    def training_step(self, batch: Any, _: int) -> Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(self.network(images), labels)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


STEPS = 3  # of each trial


class Finder(BatchSizeFinder):
    """Ends with what it found: what is trained then is not asked for."""

    def on_fit_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.scale_batch_size(trainer, pl_module)
        raise SystemExit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=("power", "binsearch"), default="power")
    parser.add_argument("--size", type=int, default=224)
    args = parser.parse_args()
    job = Job(args.size)
    trainer = lightning.Trainer(
        callbacks=[Finder(mode=args.mode, steps_per_trial=STEPS)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
    )
    try:
        trainer.fit(job)
    except SystemExit:
        pass
    ran_out = [batch for batch in job.tried if job.steps_of[batch] < STEPS]
    words = f"{len(job.tried)} tried, {len(ran_out)} ran out: {job.tried}"
    print(f"finder: batch {job.batch_size}, {words}", flush=True)


if __name__ == "__main__":
    main()
