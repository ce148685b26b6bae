"""The BERT-large ladder of Hugging Face's single-GPU guide, with the software of its time.

    vramfit run --gpu v100-16gb --context 1343MiB --steps all --files shared -- \\
        python bench/published/bert_ladder.py fixtures/published/bert_large_ladder.csv --out bert.json

Three things of 2021 are restored, because today's versions need other amounts: attention is the eager one and its
softmax saves its input as well as its output (PyTorch issue 64000, until pull request 65242), zero_grad keeps the
gradients, and AdamW is transformers' own, one parameter at a time with temporaries.
"""

from __future__ import annotations

import argparse
import csv
import functools
from pathlib import Path

import torch
from torch import Tensor
from transformers import BertConfig, BertForSequenceClassification
from transformers.optimization import Adafactor

from rung import try_rows


class SoftmaxOf2021(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, dim: int) -> Tensor:
        out = torch.softmax(x, dim)
        ctx.save_for_backward(x, out)
        ctx.dim = dim
        return out

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple[Tensor, None]:
        x, out = ctx.saved_tensors
        return torch._softmax_backward_data(grad, out, ctx.dim, x.dtype), None


class AdamWOf2021(torch.optim.Optimizer):
    """transformers.AdamW of v4.21, with its temporaries."""

    def __init__(
        self, parameters, lr: float = 5e-5, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6
    ) -> None:
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None) -> None:
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(p), torch.zeros_like(p)
                state["exp_avg"].mul_(beta1).add_(p.grad, alpha=1.0 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1.0 - beta2)
                denominator = state["exp_avg_sq"].sqrt().add_(group["eps"])
                p.addcdiv_(state["exp_avg"], denominator, value=-group["lr"])


def softmax_of_2021(x: Tensor, dim: int, dtype: torch.dtype | None = None, **_: object) -> Tensor:
    # Autocast runs softmax in fp32, as it did then.
    with torch.autocast("cuda", enabled=False):
        return SoftmaxOf2021.apply(x.float(), dim)


def train(row: dict[str, str], steps: int) -> None:
    torch.nn.functional.softmax = softmax_of_2021
    config = BertConfig(
        hidden_size=1024,
        num_hidden_layers=24,
        num_attention_heads=16,
        intermediate_size=4096,
        attn_implementation="eager",
    )
    with torch.device("cuda"):
        model = BertForSequenceClassification(config)
    model.cuda().train()
    if int(row["checkpoint"]):
        model.gradient_checkpointing_enable({"use_reentrant": True})
        model.enable_input_require_grads()
    if row["optimizer"] == "adafactor":
        optimizer = Adafactor(model.parameters(), lr=5e-5, scale_parameter=False, relative_step=False)
    else:
        optimizer = AdamWOf2021(model.parameters())
    half = row["precision"] == "fp16"
    scaler = torch.amp.GradScaler("cuda", enabled=half)
    accumulate = int(row["accumulate"])
    for step in range(1, steps * accumulate + 1):
        tokens = torch.zeros(int(row["batch"]), 512, dtype=torch.long).cuda()
        labels = torch.zeros(int(row["batch"]), dtype=torch.long).cuda()
        with torch.autocast("cuda", torch.float16, enabled=half):
            loss = model(input_ids=tokens, labels=labels).loss / accumulate
        scaler.scale(loss).backward()
        if step % accumulate == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=False)


def describe(row: dict) -> str:
    here = f"{row['device_bytes'] / 2**20:.0f} MiB" if "device_bytes" in row else row["error"]
    job = f"{row['batch']} x {row['accumulate']}, {row['precision']}, {row['optimizer']}"
    return f"{job}: measured {row['device_mib']} MiB, here {row['status']} {here}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=3)
    args = parser.parse_args()
    try_rows(csv.DictReader(args.rows.open()), functools.partial(train, steps=args.steps), describe, args.out)


if __name__ == "__main__":
    main()
