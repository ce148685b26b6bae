"""Lightning's Trainer: an image classifier with a validation loop; the precision is on the command line."""

from __future__ import annotations

import sys
import tempfile

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
            nn.Linear(512, 10),
        )  # fmt: skip

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        self.log("accuracy", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


def loader(count: int, batch: int) -> DataLoader:
    return DataLoader(TensorDataset(torch.randn(count, 3, 32, 32), torch.randint(0, 10, (count,))), batch_size=batch)


with tempfile.TemporaryDirectory() as folder:
    trainer = lightning.Trainer(
        accelerator="gpu",
        devices=1,
        precision=sys.argv[1],
        max_epochs=3,
        default_root_dir=folder,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Classifier(), loader(2000, 32), loader(500, 64))
