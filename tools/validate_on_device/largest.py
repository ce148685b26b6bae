"""Trains a network of torchvision or transformers for three steps at a batch size: does the card hold it?

vramfit run --gpu H200 -- python tools/validate_on_device/largest.py NAME BATCH
python tools/validate_on_device/largest.py --around OUT.json NAME=BATCH ...    on a real card: BATCH - 1 to BATCH + 2
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from measure import in_a_fork
from networks import HALF, LLAMA, Job, begin, one_step, text, vision

JOBS: dict[str, Callable[[int], Job]] = {
    "resnet50_fp32": lambda batch: vision("resnet50", batch, 224, None, False, False),
    "vit_b_16_bf16": lambda batch: vision("vit_b_16", batch, 224, HALF, False, False),
    "convnext_tiny_fp16_last": lambda batch: vision("convnext_tiny", batch, 224, torch.float16, True, False),
    "gpt2_bf16": lambda batch: text("gpt2", {}, batch, 1024, HALF),
    "llama_bf16": lambda batch: text("llama", LLAMA, batch, 2048, HALF),
    "bert_fp32": lambda batch: text("bert", {}, batch, 512, None),
}


def train(name: str, batch: int) -> dict:
    try:
        job, update = begin(functools.partial(JOBS[name], batch))
        for _ in range(3):
            one_step(job, update)
        torch.cuda.synchronize()
        outcome = {"fits": True}
    except torch.OutOfMemoryError as error:
        outcome = {"fits": False, "message": str(error)}
    statistics = torch.cuda.memory_stats()
    return outcome | {
        "allocated_bytes": statistics["allocated_bytes.all.peak"],
        "reserved_bytes": statistics["reserved_bytes.all.peak"],
        "retries": statistics["num_alloc_retries"],
    }


def main() -> int:
    if sys.argv[1] != "--around":
        outcome = train(sys.argv[1], int(sys.argv[2]))
        print(json.dumps(outcome))
        return 0 if outcome["fits"] else 1
    out, found = Path(sys.argv[2]), {}
    for asked in sys.argv[3:]:
        name, batch = asked.split("=")
        for n in (int(batch), int(batch) + 1, int(batch) + 2, int(batch) - 1):
            found[f"{name} {n}"] = row = in_a_fork(functools.partial(train, name, n), 60)
            print(name, n, json.dumps(row)[:200], flush=True)
            out.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
