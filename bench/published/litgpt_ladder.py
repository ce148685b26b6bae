"""Fine-tuning of LitGPT's configuration hub on one 24 GB A10G, with LitGPT's own models.

    vramfit run --gpu a10g --steps all --files shared -- \\
        python bench/published/litgpt_ladder.py fixtures/published/litgpt_finetune.csv --out litgpt.json

Each row is what LitGPT's `finetune` scripts do with the configuration of that name: Fabric's bf16-true, AdamW,
micro-batches of 512 tokens (the configurations' max_seq_length) until the global batch is full, then a step. Needs
litgpt and lightning. Full fine-tuning is left out where the configuration shards the model over four cards.
"""

from __future__ import annotations

import argparse
import csv
import functools
from pathlib import Path

import torch
from lightning.fabric import Fabric
from litgpt import GPT, Config
from litgpt.lora import GPT as LoraGPT
from litgpt.lora import Config as LoraConfig
from litgpt.lora import mark_only_lora_as_trainable
from litgpt.utils import chunked_cross_entropy
from torch import Tensor

from rung import describe_allocated, try_rows

TOKENS = 512  # max_seq_length of every configuration; shorter samples are padded to the longest of a batch
LORA_PARTS = ("query", "key", "value", "projection", "mlp", "head")


def make_model(row: dict[str, str]) -> torch.nn.Module:
    if row["method"] == "full":
        return GPT(Config.from_name(row["litgpt_name"]))
    chosen = {f"lora_{part}": flag == "1" for part, flag in zip(LORA_PARTS, row["lora_parts"], strict=True)}
    rank = int(row["lora_rank"])
    config = LoraConfig.from_name(row["litgpt_name"], lora_r=rank, lora_alpha=16, lora_dropout=0.05, **chosen)
    model = LoraGPT(config)
    mark_only_lora_as_trainable(model)
    return model


def get_loss(model: torch.nn.Module, tokens: Tensor, method: str) -> Tensor:
    if method == "full":
        return chunked_cross_entropy(model(tokens)[..., :-1, :], tokens[..., 1:])
    logits = model(tokens, lm_head_chunk_size=128)
    logits[-1] = logits[-1][..., :-1, :]
    return chunked_cross_entropy(logits, tokens[..., 1:])


def train(row: dict[str, str], steps: int) -> None:
    fabric = Fabric(accelerator="cuda", devices=1, precision="bf16-true")  # what the model returns becomes fp32
    fabric.launch()
    with fabric.init_module():
        model = make_model(row)
    model = fabric.setup_module(model)
    model.max_seq_length = TOKENS
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4, betas=(0.9, 0.95), weight_decay=0.0)
    optimizer = fabric.setup_optimizers(optimizer)
    batch = int(row["micro_batch"])
    accumulate = max(1, int(row["global_batch"]) // batch)
    tokens = fabric.to_device(torch.zeros(batch, TOKENS, dtype=torch.long))
    with torch.no_grad():  # its sanity check before training
        model.eval()
        chunked_cross_entropy(model(tokens)[..., :-1, :], tokens[..., 1:], chunk_size=0)
        model.train()
    for number in range(1, steps * accumulate + 1):
        tokens = fabric.to_device(torch.zeros(batch, TOKENS, dtype=torch.long))
        fabric.backward(get_loss(model, tokens, row["method"]) / accumulate)
        if number % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2)
    args = parser.parse_args()
    describe = functools.partial(describe_allocated, "configuration", "allocated_gb")
    try_rows(csv.DictReader(args.rows.open()), functools.partial(train, steps=args.steps), describe, args.out)


if __name__ == "__main__":
    main()
