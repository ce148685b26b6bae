#!/usr/bin/env python3
"""Reading logs: vramfit's readers of text against one regular expression in Python and grep, on the same files.

    bench/log_reading.py --tool build/release/tools/vramfit_text_dump [--megabytes 200] [--repeats 3] [--json FILE]

The logs are written anew: plain lines that no reader wants, a progress bar of carriage returns, training lines with a
memory number each, tracebacks of PyTorch of which a third are equal, and plain lines of UTF-16; each ends in one
out-of-memory error. grep and the expression only look for that error; vramfit looks for everything it knows. Best of
the repeats, in megabytes (10^6 bytes) a second.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

OOM = (
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.93 GiB total capacity; 7.01 GiB already "
    "allocated; 5.44 MiB free; 7.30 GiB reserved in total by PyTorch)\n"
)
PATTERN = rb"CUDA out of memory\. Tried to allocate ([\d.]+) ([KMG]iB|bytes)"
WORDS = [
    "loss",
    "model",
    "layer",
    "forward",
    "step",
    "loader",
    "epoch",
    "gradient",
    "norm",
    "weight",
    "config",
    "token",
]


def plain(index: int) -> str:
    words = " ".join(random.choices(WORDS, k=12))
    return f"2024-05-01 10:00:{index % 60:02d},123 INFO trainer.py:{index % 900} {words} {random.random():.4f}\n"


def bar(index: int) -> str:
    return f"\r {index % 100:3d}%|{'#' * (index % 10):10}| {index}/1000000 [00:10<00:20, 12.34it/s, loss=0.123]"


def training(index: int) -> str:
    place = f"Epoch(train)  [{index // 120}][{index % 120:3d}/120]  lr: 1.0e-03  eta: 0:10:00  time: 0.51"
    return f"2024-05-01 10:00:00,123 - mmengine - INFO - {place}  memory: {7000 + index % 100}  loss: 0.3\n"


FRAMES = [
    (
        "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py",
        "_call_impl",
        "return forward_call(*args, **kwargs)",
    ),
    ("/usr/lib/python3.11/site-packages/torch/nn/modules/container.py", "forward", "input = module(input)"),
    ("/usr/lib/python3.11/site-packages/torch/nn/functional.py", "layer_norm", "return torch.layer_norm("),
    ("/home/me/project/model.py", "forward", "x = self.block(x)"),
]


def traceback(index: int) -> str:
    numbers = random.Random(index if index % 3 else 0)
    text = "Traceback (most recent call last):\n"
    for _ in range(numbers.randrange(6, 40)):
        file, function, code = numbers.choice(FRAMES)
        text += f'  File "{file}", line {numbers.randrange(1, 2000)}, in {function}\n    {code}\n'
    return text + f"KeyError: 'step_{index}'\n" + plain(index)


def write_log(path: Path, size: int, line: Callable[[int], str], encoding: str) -> None:
    random.seed(7)
    with path.open("w", encoding=encoding, newline="") as log:
        block = "".join(line(index) for index in range(20000))
        for _ in range(max(1, size // len(block.encode(encoding)))):
            log.write(block)
        log.write("\n" + OOM)


def best(repeats: int, size: int, run: Callable[[], None]) -> float:
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - begin)
    return size / 1e6 / min(seconds)


def vramfit(tool: Path, log: Path) -> None:
    done = subprocess.run([str(tool), "time", str(log)], capture_output=True, text=True, check=True)
    if json.loads(done.stdout)["ooms"] != 1:
        raise SystemExit(f"{log.name}: the error was not found once")


def expression(log: Path, encoding: str) -> None:
    pattern = re.compile(PATTERN.decode())
    with log.open(encoding=encoding) as lines:
        if sum(1 for line in lines if pattern.search(line)) != 1:
            raise SystemExit(f"{log.name}: the expression did not find the error")


def grep(log: Path) -> None:
    subprocess.run(["grep", "-c", "CUDA out of memory", str(log)], stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tool", type=Path, required=True)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    shapes = {
        "plain": (plain, "utf-8"),
        "progress bar": (bar, "utf-8"),
        "training": (training, "utf-8"),
        "tracebacks": (traceback, "utf-8"),
        "utf-16": (plain, "utf-16"),
    }
    results: dict[str, dict[str, float]] = {}
    print(f"{'MB/s':14}{'vramfit':>10}{'python re':>12}{'grep -c':>10}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (line, encoding) in shapes.items():
            log = Path(folder) / "log.txt"
            write_log(log, options.megabytes * 1_000_000, line, encoding)
            size = log.stat().st_size
            row = {
                "vramfit": best(options.repeats, size, partial(vramfit, options.tool, log)),
                "python": best(options.repeats, size, partial(expression, log, encoding)),
            }
            if encoding == "utf-8":
                row["grep"] = best(options.repeats, size, partial(grep, log))
            results[name] = row
            last = f"{row['grep']:10.0f}" if "grep" in row else f"{'-':>10}"
            print(f"{name:14}{row['vramfit']:10.0f}{row['python']:12.0f}{last}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
