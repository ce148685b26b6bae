"""How long training steps take on a card, by kernels: networks of torchvision and transformers, larger batches.

python tools/validate_on_device/times.py OUT.json
vramfit run --gpu H200 --json -- python tools/validate_on_device/times.py --train NAME
"""

from __future__ import annotations

import argparse
import collections
import functools
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
from networks import HALF, LLAMA, Job, begin, one_step, segmentation, text, vision
from registry import report_parts_to

JOBS: dict[str, Callable[[], Job]] = {}
for _name in ("resnet50", "vgg16", "efficientnet_b0", "convnext_tiny", "vit_b_16", "swin_t", "mobilenet_v3_large"):
    JOBS[f"{_name} fp32 64"] = functools.partial(vision, _name, 64, 224, None, False, False)
    JOBS[f"{_name} bf16 channels_last 128"] = functools.partial(vision, _name, 128, 224, HALF, True, False)
JOBS["resnet50 fp16 channels_last benchmark 128"] = functools.partial(
    vision, "resnet50", 128, 224, torch.float16, True, True
)
JOBS["resnet50 fp32 4"] = functools.partial(vision, "resnet50", 4, 224, None, False, False)
JOBS["deeplabv3_resnet50 bf16 4"] = functools.partial(segmentation, "deeplabv3_resnet50", HALF)
for _kind, _settings, _batch, _length in (
    ("gpt2", {}, 16, 1024),
    (
        "bert",
        {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096},
        16,
        512,
    ),
    ("llama", LLAMA, 8, 1024),
    ("t5", {"decoder_start_token_id": 0}, 16, 512),
):
    for _label, _type in (("fp32", None), ("bf16", HALF)):
        JOBS[f"{_kind} {_label} {_batch}x{_length}"] = functools.partial(text, _kind, _settings, _batch, _length, _type)


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--train", metavar="NAME", choices=JOBS, help="only train this one for a few steps")
    parser.add_argument("--seconds", type=float, default=150.0, help="begin no other job after so long")
    parser.add_argument("--list", action="store_true")
    return parser.parse_args()


def train(name: str, count: int) -> tuple[Job, torch.optim.Optimizer]:
    job, update = begin(JOBS[name])
    for _ in range(count):
        one_step(job, update)
    return job, update


def timed(name: str) -> dict:
    torch.backends.cudnn.benchmark = False
    job, update = train(name, 4)
    seconds = []
    torch.cuda.synchronize()
    for _ in range(10):
        begun = time.perf_counter()
        one_step(job, update)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begun)
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as profile:
        one_step(job, update)
        torch.cuda.synchronize()
    kernels: dict[str, list] = collections.defaultdict(lambda: [0, 0.0])
    for event in profile.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            kernels[event.name][0] += 1
            kernels[event.name][1] += event.device_time
    longest = sorted(kernels.items(), key=lambda item: -item[1][1])
    return {
        "step_seconds": statistics.median(seconds),
        "step_seconds_all": seconds,
        "kernel_microseconds": sum(total for _, total in kernels.values()),
        "launches": sum(count for count, _ in kernels.values()),
        "peak_bytes": torch.cuda.max_memory_allocated(),
        "kernels": {key[:160]: value for key, value in longest[:40]},
    }


def copies() -> dict:
    """Bytes a second between host and card, and how long the driver takes for memory."""
    size = 1 << 30
    card = torch.empty(size, dtype=torch.uint8, device="cuda")
    pinned, pageable = torch.empty(size, dtype=torch.uint8, pin_memory=True), torch.ones(size, dtype=torch.uint8)
    found = {}
    for label, source, target in (
        ("to_card_pinned", pinned, card),
        ("to_host_pinned", card, pinned),
        ("to_card_pageable", pageable, card),
        ("to_host_pageable", card, pageable),
        ("on_card", card, torch.empty_like(card)),
    ):
        each = []
        for _ in range(4):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            target.copy_(source, non_blocking=True)
            torch.cuda.synchronize()
            each.append(size / (time.perf_counter() - begun))
        found[label] = statistics.median(each)
    return found


def main() -> int:
    args = parse_args()
    report_parts_to(lambda _: None)
    if args.list:
        print("\n".join(JOBS))
        return 0
    if args.train:
        train(args.train, 4)
        return 0
    begun = time.monotonic()
    result: dict = {"copies": copies(), "jobs": {}}
    for name in JOBS:
        if time.monotonic() - begun > args.seconds:
            break
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        try:
            result["jobs"][name] = timed(name)
        except RuntimeError as error:
            result["jobs"][name] = {"error": str(error)[:300]}
        print(name, result["jobs"][name].get("step_seconds"), file=sys.stderr, flush=True)
        args.out.write_text(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
