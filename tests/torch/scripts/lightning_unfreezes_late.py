"""Lightning with a callback of its own kind that unfreezes the body at an epoch that no budget runs to in full."""

from __future__ import annotations

import json
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import BaseFinetuning
from torch import nn

seen: list[int] = []


class UnfreezeBody(BaseFinetuning):
    def __init__(self, epoch: int) -> None:
        super().__init__()
        self.epoch = epoch

    def freeze_before_training(self, pl_module: Any) -> None:
        self.freeze(pl_module.body)

    def finetune_function(self, pl_module: Any, epoch: int, optimizer: Any) -> None:
        if epoch == self.epoch:
            seen.append(epoch)
            self.unfreeze_and_add_param_group(pl_module.body, optimizer, 1e-3)


class Net(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 2)

    def training_step(self, batch: torch.Tensor, index: int) -> torch.Tensor:
        if self.global_step == 3000:
            return self.head(self.body(batch.repeat(2, 1))).sum()
        return self.head(self.body(batch)).sum()

    def validation_step(self, batch: torch.Tensor, index: int) -> None:
        self.head(self.body(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(p for p in self.parameters() if p.requires_grad)


train = torch.utils.data.DataLoader(torch.ones(400, 64), 8)
val = torch.utils.data.DataLoader(torch.ones(80, 64), 8)
trainer = lightning.Trainer(
    max_epochs=90, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False, callbacks=[UnfreezeBody(41)],
    enable_progress_bar=False, enable_model_summary=False,
)  # fmt: skip
trainer.fit(Net(), train, val)
print(json.dumps({"unfrozen": seen, "epoch": trainer.current_epoch}))
