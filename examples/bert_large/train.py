"""Fine-tunes BERT-large (335 million parameters) for sequence classification.

    python train.py                       about 22 GB
    python train.py --amp --checkpoint    less than half of it

Needs `transformers`. The model starts from random weights of BERT-large's shape and the text is random: nothing is
downloaded. --pretrained NAME loads real weights.
"""

from __future__ import annotations

import argparse
import sys
import time

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

try:
    from transformers import BertConfig, BertForSequenceClassification, get_linear_schedule_with_warmup
except ImportError:
    sys.exit("this example needs transformers: pip install transformers")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--accumulate", type=int, default=1, help="batches per optimizer step")
    parser.add_argument("--sequence", type=int, default=512, help="tokens per text")
    parser.add_argument("--amp", action="store_true", help="fp16 autocast with loss scaling")
    parser.add_argument("--checkpoint", action="store_true", help="recompute activations in the backward pass")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--lr", type=float, default=2e-5)
    parser.add_argument("--layers", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--pretrained", help="for example bert-large-uncased")
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


class RandomTexts(Dataset):
    """Texts of random tokens with padding, labelled by what they start with."""

    def __init__(self, count: int, length: int, vocabulary: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(1000, vocabulary, (count, length), generator=generator)
        self.lengths = torch.randint(length // 2, length + 1, (count,), generator=generator)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        tokens = self.tokens[index].clone()
        tokens[self.lengths[index] :] = 0
        return {
            "input_ids": tokens,
            "attention_mask": (tokens > 0).long(),
            "labels": (tokens[0] % 2).long(),
        }


def build_model(args: argparse.Namespace) -> BertForSequenceClassification:
    if args.pretrained:
        model = BertForSequenceClassification.from_pretrained(args.pretrained, num_labels=2)
    else:
        config = BertConfig(
            hidden_size=args.hidden,
            num_hidden_layers=args.layers,
            num_attention_heads=max(args.hidden // 64, 1),
            intermediate_size=4 * args.hidden,
            num_labels=2,
        )
        model = BertForSequenceClassification(config)
    if args.checkpoint:
        model.gradient_checkpointing_enable()
    return model.to(args.device)


def to_device(batch: dict[str, Tensor], device: str) -> dict[str, Tensor]:
    return {name: value.to(device, non_blocking=True) for name, value in batch.items()}


def train_epoch(model, loader, optimizer, scheduler, scaler, args) -> float:
    model.train()
    total = torch.zeros((), device=args.device)
    for index, batch in enumerate(loader, start=1):
        batch = to_device(batch, args.device)
        with torch.autocast(torch.device(args.device).type, torch.float16, enabled=args.amp):
            loss = model(**batch).loss / args.accumulate
        scaler.scale(loss).backward()
        total += loss.detach()
        if index % args.accumulate == 0 or index == len(loader):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            optimizer.zero_grad()
    return float(total) * args.accumulate / len(loader)


@torch.no_grad()
def evaluate(model, loader, args) -> float:
    model.eval()
    right = torch.zeros((), device=args.device)
    for batch in loader:
        batch = to_device(batch, args.device)
        with torch.autocast(torch.device(args.device).type, torch.float16, enabled=args.amp):
            logits = model(**batch).logits
        right += (logits.argmax(-1) == batch["labels"]).sum()
    return float(right) / len(loader.dataset)


def main() -> None:
    args = parse_args()
    torch.manual_seed(0)
    model = build_model(args)
    vocabulary = model.config.vocab_size
    on_gpu = args.device.startswith("cuda")
    train = RandomTexts(args.texts, args.sequence, vocabulary, seed=1)
    held_out = RandomTexts(max(args.texts // 10, 2), args.sequence, vocabulary, seed=2)
    train_loader = DataLoader(train, args.batch_size, shuffle=True, pin_memory=on_gpu)
    eval_loader = DataLoader(held_out, args.batch_size, pin_memory=on_gpu)

    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    steps = args.epochs * (len(train_loader) // args.accumulate + 1)
    scheduler = get_linear_schedule_with_warmup(optimizer, steps // 10, steps)
    scaler = torch.amp.GradScaler(torch.device(args.device).type, enabled=args.amp)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters, {len(train_loader)} batches an epoch")
    for epoch in range(1, args.epochs + 1):
        started = time.perf_counter()
        loss = train_epoch(model, train_loader, optimizer, scheduler, scaler, args)
        print(f"epoch {epoch}: loss {loss:.4f}, {time.perf_counter() - started:.1f} s", flush=True)
        print(f"epoch {epoch}: accuracy {evaluate(model, eval_loader, args):.3f}", flush=True)


if __name__ == "__main__":
    main()
