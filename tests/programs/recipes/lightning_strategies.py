"""Lightning: a Trainer on one or two cards; arguments: the strategy, and how many cards."""

from __future__ import annotations

import sys

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Network(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(8)])
        self.head = nn.Linear(1024, 10)

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        return nn.functional.cross_entropy(self.head(self.body(batch[0])), batch[1])

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return self.loss(batch)

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        self.log("loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters())


def loader(rows: int) -> DataLoader:
    return DataLoader(TensorDataset(torch.randn(rows, 1024), torch.randint(0, 10, (rows,))), batch_size=64)


if __name__ == "__main__":
    trainer = lightning.Trainer(
        accelerator="gpu",
        devices=int(sys.argv[2]),
        strategy=sys.argv[1],
        precision="bf16-mixed",
        max_epochs=3,
        logger=False,
        enable_progress_bar=False,
    )
    trainer.fit(Network(), loader(1024), loader(256))
