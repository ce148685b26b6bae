"""Training of MMSegmentation's configurations on V100s, with its own models, losses and optimizers.

    vramfit run --gpu v100-32gb --steps all --files shared -- \\
        python bench/published/mmseg_ladder.py fixtures/published/mmsegmentation_training.csv --out mmseg.json

Each row is what `tools/train.py` does with the configuration of that name, two steps on one of its cards: the model
built from the file, DistributedDataParallel (in a group of one: its buckets are as large), pictures of the crop's size
as the data pre-processor gets them. Pretrained weights are not loaded. Needs mmsegmentation, mmengine and mmcv-lite;
rows whose model needs mmcv's compiled operators are reported as such.
"""

from __future__ import annotations

import argparse
import csv
import functools
import os
from pathlib import Path

import mmcv_lite  # noqa: F401  before all that imports mmcv

# isort: split
import mmseg.models  # it registers them, once for all rows
import numpy as np
import torch
import torch.distributed as dist
from mmengine.config import Config
from mmengine.model import MMDistributedDataParallel
from mmengine.optim import build_optim_wrapper
from mmengine.registry import init_default_scope
from mmengine.structures import PixelData
from mmseg.registry import MODELS
from mmseg.structures import SegDataSample

from rung import describe_allocated, try_rows

CONFIGS = Path(mmseg.__file__).parent / ".mim"


def drop_pretrained(config: Config | dict | list) -> None:
    """Weights on the network change no size."""
    values = list(config.values()) if isinstance(config, dict) else config if isinstance(config, list) else []
    if isinstance(config, dict):
        for name in ("pretrained", "init_cfg"):
            if config.get(name) is not None:
                config[name] = None
    for value in values:
        drop_pretrained(value)


def find_classes(head: dict | list) -> int:
    """Of the last head; those inside it where it names none itself."""
    if isinstance(head, list):
        return find_classes(head[-1])
    if "num_classes" in head:
        return head["num_classes"]
    inside = [value for value in head.values() if isinstance(value, (dict, list)) and value]
    return next((found for found in map(find_classes, inside) if found), 0)


def make_sample(height: int, width: int, classes: int, with_edges: bool) -> dict:
    """One picture and its labels, as the pipeline's PackSegInputs leaves them."""
    image = torch.zeros(3, height, width, dtype=torch.uint8)
    labels = np.random.default_rng(0).integers(0, classes, (1, height, width), dtype=np.int64)
    meta = {"img_shape": (height, width), "ori_shape": (height, width), "pad_shape": (height, width)}
    sample = SegDataSample(metainfo=meta, gt_sem_seg=PixelData(data=torch.from_numpy(labels)))
    if with_edges:
        sample.gt_edge_map = PixelData(data=torch.from_numpy(labels % 2))
    return {"inputs": image, "data_samples": sample}


def train(row: dict[str, str], steps: int) -> None:
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    config = Config.fromfile(str(CONFIGS / row["config"]))
    init_default_scope(config.get("default_scope", "mmseg"))
    torch.backends.cudnn.benchmark = bool(config.get("env_cfg", {}).get("cudnn_benchmark"))
    drop_pretrained(config.model)
    model = MODELS.build(config.model).cuda()
    options = {key: value for key, value in config.get("model_wrapper_cfg", {}).items() if key != "type"}
    options.setdefault("find_unused_parameters", bool(config.get("find_unused_parameters")))
    model = MMDistributedDataParallel(model, device_ids=[0], broadcast_buffers=False, **options)
    optimizer = build_optim_wrapper(model, config.optim_wrapper)
    height, width = (int(side) for side in row["input"].split("x"))
    with_edges = any(step["type"] == "GenerateEdge" for step in config.get("train_pipeline", []))
    sample = make_sample(height, width, find_classes(config.model.decode_head), with_edges)
    model.train()
    for _ in range(steps):
        batch = [sample] * int(row["batch_per_gpu"])
        data = {"inputs": [one["inputs"] for one in batch], "data_samples": [one["data_samples"] for one in batch]}
        model.train_step(data, optim_wrapper=optimizer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", default="", help="rows with this in the name of their configuration")
    args = parser.parse_args()
    os.environ.setdefault("LOCAL_RANK", "0")
    rows = (row for row in csv.DictReader(args.rows.open()) if args.only in row["config"])
    describe = functools.partial(describe_allocated, "config", "max_memory_allocated_gb")
    try_rows(rows, functools.partial(train, steps=args.steps), describe, args.out)


if __name__ == "__main__":
    main()
