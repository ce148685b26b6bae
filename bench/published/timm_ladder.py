"""timm's training benchmark: the largest batch of its ladder that runs, for each model of a list.

    vramfit run --gpu rtx3090 --context 1343MiB --steps all --files shared -- \\
        python bench/published/timm_ladder.py fixtures/published/timm_train_rtx3090.csv --out timm.json

The job is that of timm's benchmark.py as of 2022: fp16 autocast without loss scaling, fp32 weights, SGD with Nesterov
momentum, cross entropy, NCHW, cudnn.benchmark, gradients kept by zero_grad, attention written out (PyTorch 1.12 had no
fused one).
"""

from __future__ import annotations

import argparse
import csv
import functools
import json
import sys
from pathlib import Path

import timm
import torch

from rung import try_rung

LADDER = [512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]


def train(model_name: str, shape: tuple[int, ...], batch: int, steps: int) -> None:
    torch.backends.cudnn.benchmark = True
    timm.layers.set_fused_attn(False)
    # Initial values don't matter; making them on the host would take seconds.
    with torch.device("cuda"):
        model = timm.create_model(model_name, **size_option(model_name, shape[-1]))
    model.cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9, nesterov=True)
    loss_function = torch.nn.CrossEntropyLoss().cuda()
    images = torch.randn(batch, *shape, device="cuda")
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")
    for _ in range(steps):
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", torch.float16):
            loss = loss_function(model(images), labels)
        loss.backward()
        optimizer.step()


def size_option(model_name: str, size: int) -> dict[str, int]:
    """Models with position tables are built for one size; the others take any."""
    return {"img_size": size} if timm.get_pretrained_cfg(model_name).fixed_input_size else {}


def is_same_model(model_name: str, size: int, params_m: float) -> bool:
    """Whether today's timm builds, under that name, what was measured: names were given to other models since."""
    with torch.device("meta"):
        model = timm.create_model(model_name, **size_option(model_name, size))
    count = sum(parameter.numel() for parameter in model.parameters())
    return abs(count / 1e6 / params_m - 1) < 0.01


def largest_batch(model_name: str, shape: tuple[int, ...], expected: int, steps: int) -> dict:
    """Walks the ladder from where the answer should be; a row with every rung that was tried."""
    tried: dict[int, dict] = {}

    def runs(rung: int) -> bool:
        batch = LADDER[rung]
        if batch not in tried:
            tried[batch] = try_rung(functools.partial(train, model_name, shape, batch, steps))
        return tried[batch]["status"] == "ok"

    rung = LADDER.index(expected)
    while rung < len(LADDER) and not runs(rung):
        if tried[LADDER[rung]]["status"] == "failed":
            return {"status": "failed", "tried": tried}
        rung += 1
    while rung > 0 and rung < len(LADDER) and runs(rung - 1):
        rung -= 1
    return {"status": "ok", "largest": LADDER[rung] if rung < len(LADDER) else 0, "tried": tried}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="CSV with timm_now, input, largest_batch_that_ran")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", help="models with this in their name")
    args = parser.parse_args()
    results: dict[str, dict] = {}
    for row in csv.DictReader(args.rows.open()):
        if args.only and args.only not in row["model"]:
            continue
        shape = tuple(int(side) for side in row["input"].split("x"))
        expected = int(row["largest_batch_that_ran"])
        if is_same_model(row["timm_now"], shape[-1], float(row["params_m"])):
            result = largest_batch(row["timm_now"], shape, expected, args.steps)
        else:
            result = {"status": "another model", "tried": {}}
        results[row["model"]] = {"measured": expected, **result}
        print(
            f"{row['model']}: measured {expected}, here {result.get('largest', 'failed')}", file=sys.stderr, flush=True
        )
        args.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
