"""What a private layer for a job's files costs: the same scripts in each kind of layer, and on the user's own files.

    python bench/files.py PYTHON [--rounds 5] [--jobs training,checkpoints,imports] [--kinds supervisor]

Seconds of the processor and of the clock, of whole runs. The kinds take turns within a round, so that what else the
machine does falls on all of them; told is the median over the rounds of a kind's time over that of the shared files in
the same round. PYTHON has torch, torchvision and transformers.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# A training of a convolutional network on images in files, as most are: data, model, optimizer, a validation.
IMAGES = """
from pathlib import Path
from PIL import Image
for i in range(512):
    path = Path(f"images/{i % 8}/{i}.png")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (72, 72), (i % 256, 0, 0)).save(path)
"""
TRAINING = """
import torch, torchvision
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, RandomCrop, ToTensor
data = ImageFolder("images", Compose([RandomCrop(64), ToTensor()]))
loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True, num_workers=2)
model = torchvision.models.resnet18(num_classes=8).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for epoch in range(3):
    model.train()
    for images, labels in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(images.cuda()), labels.cuda()).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for images, labels in loader:
            model(images.cuda())
    torch.save(model.state_dict(), f"epoch{epoch}.pt")
"""
CHECKPOINTS = """
import json, os, shutil, torch
from torch import nn
model = nn.Sequential(*[nn.Linear(512, 512) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.utils.data.DataLoader(torch.zeros(4096, 512), batch_size=16)
for epoch in range(8):
    for x in data:
        optimizer.zero_grad()
        model(x.cuda()).square().mean().backward()
        optimizer.step()
    os.makedirs("partial")
    torch.save(model.state_dict(), "partial/model.pt")
    torch.save(optimizer.state_dict(), "partial/optimizer.pt")
    for layer in range(8):
        torch.save(model[layer].weight.cpu() + torch.rand(512, 512), f"partial/layer{layer}.pt")
    json.dump({"epoch": epoch}, open("partial/state.json", "w"))
    os.rename("partial", f"checkpoint-{epoch}")
    if epoch > 1: shutil.rmtree(f"checkpoint-{epoch - 2}")
"""
IMPORTS = """
import torch, torchvision, transformers
from transformers import GPT2Config, GPT2LMHeadModel, BertModel, Trainer, TrainingArguments
model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=2)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(4):
    words = torch.zeros(2, 64, dtype=torch.long, device="cuda")
    model(input_ids=words, labels=words).loss.backward()
    optimizer.step(); optimizer.zero_grad()
"""
JOBS = {"training": TRAINING, "checkpoints": CHECKPOINTS, "imports": IMPORTS}
SHARED = "shared"
KINDS = ("overlay", "user_namespace", "supervisor")


def run(program: Path, python: str, job: str, kind: str) -> tuple[float, float]:
    """Seconds of the processor, of the clock."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
    own |= {"VRAMFIT_STORE": "none", "PYTHONDONTWRITEBYTECODE": "1"}
    options = ["--files", "shared", "--network"]
    if kind != SHARED:
        own["VRAMFIT_LAYER_KIND"] = kind
        options = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-c", IMAGES], cwd=folder, check=True)
        words = [str(program), "run", "--gpu", "rtx3060", "--steps", "all", *options, "--", python, "-c", JOBS[job]]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(words, cwd=folder, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        clock, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-3000:])
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, clock


def compare(job: str, kinds: list[str], options: argparse.Namespace) -> None:
    """Prints a line for each kind of layer."""
    program = options.stage / "bin" / "vramfit"
    run(program, options.python, job, SHARED)  # what the machine reads for the first time
    seen: dict[str, list[tuple[float, float]]] = {kind: [] for kind in (SHARED, *kinds)}
    for number in range(options.rounds):
        turn = list(seen)
        for kind in turn[number % len(turn) :] + turn[: number % len(turn)]:
            seen[kind].append(run(program, options.python, job, kind))
    for kind, times in seen.items():
        cpu, clock = (statistics.median(one[i] for one in times) for i in (0, 1))
        extra = [statistics.median(one[i] / base[i] for one, base in zip(times, seen[SHARED])) for i in (0, 1)]
        told = "".join(f"{100 * (ratio - 1):+11.1f} %" for ratio in extra) if kind != SHARED else ""
        print(f"{job:12} {kind:15} {cpu:8.2f} s {clock:8.2f} s {told}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python")
    parser.add_argument("--stage", type=Path, default=Path(__file__).parents[1] / "build" / "dev" / "stage")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=lambda text: text.split(","), default=list(JOBS))
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=list(KINDS))
    options = parser.parse_args()
    print(f"{'job':12} {'files':15} {'processor':>10} {'clock':>10} {'processor':>13}{'clock':>13}")
    for job in options.jobs:
        compare(job, options.kinds, options)


if __name__ == "__main__":
    sys.exit(main())
