"""Hugging Face's Trainer as a user would call it; `bf16`, `fp16` and `ckpt` on the command line switch those on."""

from __future__ import annotations

import sys
import tempfile

import torch
import transformers


class Tokens(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4000

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        generator = torch.Generator().manual_seed(index)
        ids = torch.randint(1, 1000, (64,), generator=generator)
        return {"input_ids": ids, "labels": ids, "attention_mask": torch.ones_like(ids)}


model = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=1000, n_layer=4, n_head=4, n_embd=128))
with tempfile.TemporaryDirectory() as folder:
    arguments = transformers.TrainingArguments(
        folder,
        per_device_train_batch_size=8,
        per_device_eval_batch_size=16,
        num_train_epochs=3,
        eval_strategy="epoch",
        save_strategy="epoch",
        bf16="bf16" in sys.argv,
        fp16="fp16" in sys.argv,
        gradient_checkpointing="ckpt" in sys.argv,
        report_to=[],
        disable_tqdm=True,
    )
    evaluation = torch.utils.data.Subset(Tokens(), range(200))
    trainer = transformers.Trainer(model, arguments, train_dataset=Tokens(), eval_dataset=evaluation)
    trainer.train()
