"""What the kernels of published steps are: fixtures/published/step_operators.csv, but for the single operators (a4).

    vramfit run --gpu a100-80gb:400GiB --steps all -- PYTHON bench/time/collect.py > operators.csv
    vramfit run --gpu h200 --steps all -- PYTHON bench/time/collect.py --jobs h200_times.json > h200_operators.csv

Runs each step of step_times.csv on the virtual card, as its table says it was measured, and reads this process's own
recording (include/vramfit/recording.h). PYTHON needs timm and transformers. --jobs: the steps of
tools/validate_on_device/times.py that this file has, which need torchvision. Kernels whose dimensions differ by less
than 12 % are one line; passes over memory are told apart by powers of two, and those of vectors from those of elements.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import functools
import gc
import json
import math
import os
import struct
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
TIMES = ROOT / "fixtures" / "published" / "step_times.csv"
TOOLS = ROOT / "tools" / "validate_on_device"
RECORD = struct.Struct("<BBBBIIIqQqqqII")
MATMUL, CONVOLUTION, LAUNCHES, COPY, WITHIN_CARD = 10, 11, 12, 13, 3
OTHER, SAVE = 0, 7  # two stages: going from one to the other has the launches so far written
SMALL = 20  # binary digits of the bytes of passes that are told together
LANGUAGE_MODELS = {"bert_large", "opt_13", "gpt3_27"}
Step = Callable[[], None]
Kernel = tuple[str, int, int, int, float, int, int]
Passes = dict[tuple[int, bool], list[float]]  # by size, and whether it goes one by one: how many, bytes, elements

recorder = ctypes.CDLL(None)
recorder.vramfit_recorded.restype = ctypes.c_uint64


def recorded() -> int:
    recorder.vramfit_set_stage(SAVE)
    recorder.vramfit_set_stage(OTHER)
    return int(recorder.vramfit_recorded())


def language_model(name: str) -> torch.nn.Module:
    import transformers as hf

    if name == "bert_large":
        config = hf.BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
        kind = hf.BertModel
    elif name == "opt_13":
        config = hf.OPTConfig(
            hidden_size=2048,
            num_hidden_layers=24,
            num_attention_heads=32,
            ffn_dim=8192,
            word_embed_proj_dim=2048,
            vocab_size=50272,
        )
        kind = hf.OPTForCausalLM
    else:
        config = hf.GPT2Config(n_embd=2560, n_layer=32, n_head=32, n_positions=2048, use_cache=False)
        kind = hf.GPT2LMHeadModel
    config._attn_implementation = "eager"
    with torch.device("meta"):
        model = kind(config)
    return model.to_empty(device="cuda")


def step_of_language_model(name: str, mode: str, batch: int, length: int) -> Step:
    model = language_model(name)
    tokens = torch.ones(batch, length, dtype=torch.long, device="cuda")

    def infer() -> None:
        with torch.no_grad():
            model(tokens)

    def train() -> None:
        out = model(tokens)
        (out.logits if hasattr(out, "logits") else out[0]).sum().backward()
        model.zero_grad()

    model.train(mode == "train")
    return train if mode == "train" else infer


def step_of_network(name: str, mode: str, batch: int, size: int) -> Step:
    import timm

    try:
        model = timm.create_model(name, img_size=size).cuda()
    except TypeError:
        model = timm.create_model(name).cuda()
    images = torch.empty(batch, 3, size, size, device="cuda")
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)

    def infer() -> None:
        with torch.inference_mode(), torch.autocast("cuda", dtype=torch.float16):
            model(images)

    def train() -> None:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(images)
        out = out[0] if isinstance(out, (tuple, list)) else out
        torch.nn.functional.cross_entropy(out.float(), labels).backward()
        optimizer.step()

    model.train(mode == "train")
    return train if mode == "train" else infer


def kernels_between(begin: int, end: int) -> tuple[dict[Kernel, int], Passes]:
    products: dict[Kernel, int] = defaultdict(int)
    passes: Passes = defaultdict(lambda: [0.0, 0.0, 0.0])
    path = Path(os.environ["VRAMFIT_RUN_DIR"]) / f"recording.{os.getpid()}.vfr"
    with path.open("rb") as file:
        file.seek(RECORD.size * begin)
        data = file.read(RECORD.size * (end - begin))
    for record in RECORD.iter_unpack(data):
        kind, shape, size, a, b = record[0], record[8], record[9], record[10], record[11]
        if kind in (MATMUL, CONVOLUTION) and shape and a:
            rows, columns, batch = shape >> 36, shape >> 16 & 0xFFFFF, shape & 0xFFFF
            name = "product" if kind == MATMUL else "convolution"
            products[name, size, rows, columns, a / (rows * columns * batch), batch, b] += 1
        elif kind == LAUNCHES:
            add_pass(passes, b, size, a)
        elif kind == COPY and a == WITHIN_CARD:
            add_pass(passes, 2 * size, 0, 1)
    return products, passes


def add_pass(passes: Passes, touched: int, elements: int, count: int) -> None:
    one = passes[max(SMALL, (touched // count).bit_length()), elements > 0]
    one[0] += count
    one[1] += touched
    one[2] += elements


def print_list(name: str, products: dict[Kernel, int], passes: Passes) -> None:
    alike: dict[tuple, list] = {}
    for kernel, count in products.items():
        key = kernel[:2] + tuple(round(math.log(max(dimension, 1)) / 0.12) for dimension in kernel[2:6])
        alike.setdefault(key, [kernel, 0])[1] += count
    for (kind, number, rows, columns, inner, batch, touched), count in alike.values():
        print(f"{name},{kind},{number},{rows},{columns},{inner:.9g},{batch},{touched:.4g},{count},0")
        name = ""  # in its first line only
    for _, (count, touched, elements) in sorted(passes.items()):
        print(f"{name},memory,0,0,0,0,1,{touched / count:.4g},{count:.0f},{elements / count:.4g}", flush=True)


def published_steps() -> Iterator[tuple[str, Callable[[], Step]]]:
    with TIMES.open() as file:
        steps = {row["list"]: row for row in csv.DictReader(file) if row["table"] != "a4"}
    for name, row in steps.items():
        batch, size = map(int, name.rsplit("-", 1)[1].split("x"))
        make = step_of_language_model if row["model"] in LANGUAGE_MODELS else step_of_network
        yield name, functools.partial(make, row["model"], row["mode"], batch, size)


def jobs_steps(recorded_jobs: Path) -> Iterator[tuple[str, Callable[[], Step]]]:
    sys.path.insert(0, str(TOOLS))
    import times

    def begin(name: str) -> Step:
        torch.backends.cudnn.benchmark = False
        job, update = times.train(name, 1)
        return functools.partial(times.one_step, job, update)

    times.report_parts_to(lambda _: None)
    for name in json.loads(recorded_jobs.read_text())["jobs"]:
        yield name, functools.partial(begin, name)


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--jobs", type=Path, metavar="TIMES.json", help="the jobs of this recording of a card")
    options = words.parse_args()
    print("list,kind,number,rows,columns,inner,batch,bytes,count,elements")
    for name, make in published_steps() if options.jobs is None else jobs_steps(options.jobs):
        try:
            step = make()
            step()
            begin = recorded()
            step()
            torch.cuda.synchronize()
            print_list(name, *kernels_between(begin, recorded()))
        except (RuntimeError, ValueError) as error:
            print(f"{name}: {error}", file=sys.stderr)
        step = None
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
