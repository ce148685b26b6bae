from __future__ import annotations

import importlib.util
import json
import re

import pytest

TINY_SCENES = ("--device", "cpu", "--size", 64, 64, "--train-images", 4, "--val-images", 4, "--epochs", 1)
TINY_BERT = ("--device", "cpu", "--layers", 2, "--hidden", 64, "--sequence", 32, "--texts", 16, "--epochs", 1)
TINY_RESNET = ("--device", "cpu", "--model", "resnet18", "--size", 256, "--images", 2, "--batch-size", 2)

VALIDATE = """
import argparse, json, torch
from data import EagerBatch, RandomScenes
from model import SceneParser
from train import validate
torch.manual_seed(0)
scenes = RandomScenes(4, (64, 64), 5)
model = SceneParser(5)
def accuracy(variant):
    loader = torch.utils.data.DataLoader(scenes, 2)
    return validate(model, loader, argparse.Namespace(device="cpu", validation=variant))
variants = ("fixed", "no-grad-missing", "gather", "leftovers")
torch.Tensor.pin_memory = torch.Tensor.cuda = lambda self, **options: self  # no card here
images, one_hot = EagerBatch([scenes[0], scenes[1]], classes=5).pin_memory()
assert (one_hot.argmax(-1) == torch.stack([scenes[0][1], scenes[1][1]])).all()
print(json.dumps({
    "accuracy": {variant: accuracy(variant) for variant in variants},
    "one_hot": list(one_hot.shape),
    "parameters": sum(p.numel() for p in SceneParser(19).parameters()),
}))
"""

STITCH = """
import json, torch
from tiles import Stitcher, tile_starts, tiles
torch.manual_seed(0)
image = torch.rand(3, 200, 330)
pool = torch.nn.AvgPool2d(8)
stitcher = Stitcher(3, 200, 330, 8)
for top, left, part in tiles(image, 64, 16, 8):
    stitcher.add(top, left, pool(part))
whole = pool(torch.nn.functional.pad(image, (0, 6, 0, 0)))
print(json.dumps({
    "error": float((stitcher.result() - whole).abs().max()),
    "shape": list(stitcher.result().shape),
    "starts": [tile_starts(2240, 512, 128, 32), tile_starts(512, 512, 128, 32), tile_starts(100, 512, 128, 32)],
}))
"""


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


def test_every_way_to_validate_gives_the_same_accuracy(example):
    found = json.loads(example("validation_oom").code(VALIDATE))
    assert set(found["accuracy"]) == {"fixed", "no-grad-missing", "gather", "leftovers"}
    assert len(set(found["accuracy"].values())) == 1
    assert found["one_hot"] == [2, 64, 64, 5]
    assert found["parameters"] == pytest.approx(21.5e6, rel=0.01)


def test_training_with_leftovers_keeps_its_last_steps(example, tmp_path):
    common = ("--batch-size", 2, "--val-batch-size", 2, "--workers", 0)
    out = example("validation_oom").script("train.py", *TINY_SCENES, *common, "--validation", "leftovers")
    assert "2 steps kept" in out
    assert re.search(r"accuracy [01]\.\d+", out)
    assert (tmp_path / "runs" / "scene_parser.pt").is_file()


@needs("transformers")
@pytest.mark.parametrize("options", [(), ("--checkpoint", "--accumulate", 2)])
def test_bert_trains_and_evaluates(example, options):
    out = example("bert_large").script("train.py", *TINY_BERT, "--batch-size", 4, *options)
    assert "4 batches an epoch" in out
    assert re.search(r"epoch 1: loss 0\.\d+", out)
    assert re.search(r"epoch 1: accuracy [01]\.\d+", out)


@needs("torchvision")
def test_resnet_gives_the_same_map_size_whole_and_in_tiles(example):
    job = example("resnet152_test")
    whole = job.script("test.py", *TINY_RESNET, "--mode", "whole")
    cut = job.script("test.py", *TINY_RESNET, "--mode", "tiles", "--tile", 128, "--overlap", 64)
    for out in (whole, cut):
        assert re.findall(r"map (\S+)", out) == ["8x8", "8x8"]


def test_stitched_tiles_equal_the_whole_for_a_local_operation(example):
    found = json.loads(example("resnet152_test").code(STITCH))
    assert found["error"] < 1e-6
    assert found["shape"] == [3, 25, 42]
    assert found["starts"] == [[0, 384, 768, 1152, 1536, 1920], [0], [0]]
