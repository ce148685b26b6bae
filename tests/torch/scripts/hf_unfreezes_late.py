"""A Trainer whose callbacks unfreeze layers: one at an epoch, one at a step, far beyond what a budget runs in full."""

from __future__ import annotations

import json
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

seen: dict[str, float] = {}


class UnfreezeAtEpoch(TrainerCallback):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_epoch_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if state.epoch >= self.epoch and "epoch" not in seen:
            seen["epoch"] = state.epoch
            model.transformer.h.requires_grad_(True)


class UnfreezeAtStep(TrainerCallback):
    def __init__(self, step: int) -> None:
        self.step = step

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if state.global_step >= self.step and "step" not in seen:
            seen["step"] = state.global_step
            model.requires_grad_(True)


model = GPT2LMHeadModel(GPT2Config(n_layer=3, n_embd=64, n_head=2, vocab_size=512, n_positions=32))
model.requires_grad_(False)
model.transformer.h[2].requires_grad_(True)
rows = [{"input_ids": torch.arange(32), "labels": torch.arange(32)} for _ in range(400)]
arguments = TrainingArguments(
    "out", per_device_train_batch_size=8, num_train_epochs=60, report_to=[], save_strategy="no", disable_tqdm=True
)
trainer = Trainer(model, arguments, train_dataset=rows, callbacks=[UnfreezeAtEpoch(31), UnfreezeAtStep(2222)])
trainer.train()
print(json.dumps(seen))
