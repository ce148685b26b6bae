"""Pre-training of a small language model as single-file repositories write it: batches from a memory-mapped token
file, no DataLoader, an endless loop with gradient accumulation, a GradScaler, losses estimated over many batches,
checkpoints, and DistributedDataParallel when torchrun started it.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--block", type=int, default=128)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--accumulate", type=int, default=4)
parser.add_argument("--steps", type=int, default=600_000)
parser.add_argument("--eval-every", type=int, default=2000)
parser.add_argument("--eval-batches", type=int, default=200)
parser.add_argument("--dtype", default="float16", choices=["float32", "bfloat16", "float16"])
options = parser.parse_args()
VOCABULARY, WIDTH, HEADS, LAYERS = 512, 128, 4, 4


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        parts = self.qkv(self.before_attention(x)).split(WIDTH, dim=2)
        q, k, v = (part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.before_mlp(x))


class LanguageModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(options.block, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.token.weight = self.head.weight

    def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.token(ids) + self.place(torch.arange(ids.size(1), device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return logits, functional.cross_entropy(logits.view(-1, VOCABULARY), targets.view(-1))


parallel = int(os.environ.get("RANK", -1)) != -1
if parallel:
    torch.distributed.init_process_group(backend="nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
is_first = int(os.environ.get("RANK", 0)) == 0
folder = Path(tempfile.mkdtemp())
for split in ("train", "val"):
    np.random.randint(0, VOCABULARY, 100_000, dtype=np.uint16).tofile(folder / f"{split}.bin")


def get_batch(split: str) -> tuple[torch.Tensor, torch.Tensor]:
    data = np.memmap(folder / f"{split}.bin", dtype=np.uint16, mode="r")
    starts = torch.randint(len(data) - options.block, (options.batch,))
    x = torch.stack([torch.from_numpy(data[i : i + options.block].astype(np.int64)) for i in starts])
    y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + options.block].astype(np.int64)) for i in starts])
    return x.pin_memory().cuda(non_blocking=True), y.pin_memory().cuda(non_blocking=True)


dtype = getattr(torch, options.dtype)
mixed = contextlib.nullcontext() if dtype == torch.float32 else torch.autocast("cuda", dtype)
model: nn.Module = LanguageModel().cuda()
scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
decayed = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), fused=True)
if parallel:
    model = DistributedDataParallel(model, device_ids=[int(os.environ["LOCAL_RANK"])])


@torch.no_grad()
def estimate_loss() -> dict[str, float]:
    model.eval()
    means = {}
    for split in ("train", "val"):
        losses = torch.zeros(options.eval_batches)
        for k in range(options.eval_batches):
            with mixed:
                _, loss = model(*get_batch(split))
            losses[k] = loss.item()
        means[split] = losses.mean().item()
    model.train()
    return means


def learning_rate(step: int) -> float:
    return 6e-4 * (step + 1) / 101 if step < 100 else 6e-5 + 2.7e-4 * (1 + math.cos(math.pi * step / options.steps))


step, best = 0, 1e9
x, y = get_batch("train")
while True:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate(step)
    if step % options.eval_every == 0 and is_first:
        losses = estimate_loss()
        print(f"step {step}: train {losses['train']:.4f}, val {losses['val']:.4f}", flush=True)
        if losses["val"] < best and step > 0:
            best = losses["val"]
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, folder / "ckpt.pt")
    for micro in range(options.accumulate):
        if parallel:
            model.require_backward_grad_sync = micro == options.accumulate - 1
        with mixed:
            _, loss = model(x, y)
            loss = loss / options.accumulate
        x, y = get_batch("train")
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    step += 1
    if step > options.steps:
        break
if parallel:
    torch.distributed.destroy_process_group()
