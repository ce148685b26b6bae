from __future__ import annotations

import json
import re

import pytest

# Trainable parameters of PaddleSeg's own PPLiteSeg(num_classes=19), commit d7975e7: its pp_liteseg.py, stdcnet.py,
# tensor_fusion.py and layer_libs.py were executed with paddle.nn mapped onto torch.nn, with the Cityscapes settings
# (T: STDC1, arm_out_chs [32, 64, 128], seg_head_inter_chs [32, 64, 64]; B: STDC2 and the class's defaults).
# The reference counts 3 more: each fusion module holds a constant 1 as a frozen parameter.
REFERENCE = {
    "t": {"total": 8_141_603, "backbone": 5_318_304, "decoder": 2_700_131, "heads": 123_168},
    "b": {"total": 12_366_467, "backbone": 9_348_768, "decoder": 2_847_779, "heads": 169_920},
}

COUNT = """
import json
from model import MODELS
def count(*modules): return sum(p.numel() for m in modules for p in m.parameters())
def parts(m):
    decoder = count(m.context, m.fusions)
    return {"total": count(m), "backbone": count(m.backbone), "decoder": decoder, "heads": count(m.heads)}
print(json.dumps({name: parts(build(19)) for name, build in MODELS.items()}))
"""

SHAPES = """
import json, torch
from model import pp_liteseg_t
model = pp_liteseg_t(19)
images = torch.rand(2, 3, 64, 128)
train = [list(x.shape) for x in model(images)]
with torch.no_grad():
    evaluation = list(model.eval()(images).shape)
features = [list(x.shape[1:]) for x in model.backbone(images)]
print(json.dumps({"train": train, "evaluation": evaluation, "features": features}))
"""

LOSS = """
import json, torch
import torch.nn.functional as F
from losses import OhemCrossEntropy
torch.manual_seed(0)
logits = 4 * torch.randn(2, 5, 8, 8)
labels = torch.randint(0, 5, (2, 8, 8))
labels[0, :3] = 255
def reference(kept, threshold):
    # The slow way: sort the valid pixels by their true class's probability, keep those below the threshold.
    pixels = logits.permute(0, 2, 3, 1).reshape(-1, 5)[labels.flatten() != 255]
    truth = labels.flatten()[labels.flatten() != 255]
    probability = pixels.softmax(1).gather(1, truth[:, None])[:, 0]
    order = probability.sort().values
    limit = max(threshold, float(order[min(kept, len(order)) - 1]))
    hard = probability <= limit
    return float(F.cross_entropy(pixels[hard], truth[hard])), int(hard.sum())
cases = []
for kept, threshold in ((1, 0.7), (1, 0.05), (60, 0.05), (10_000, 0.7)):
    expected, count = reference(kept, threshold)
    cases.append([float(OhemCrossEntropy(kept, threshold)(logits, labels)), expected, count])
everything_ignored = float(OhemCrossEntropy(4)(logits, torch.full_like(labels, 255)))
print(json.dumps({"cases": cases, "ignored": everything_ignored}))
"""

METRIC = """
import json, torch
from metrics import ConfusionMatrix
matrix = ConfusionMatrix(3)
before = matrix.mean_iou()
matrix.update(torch.tensor([[[0, 0, 1, 1]]]), torch.tensor([[[0, 1, 1, 255]]]))
print(json.dumps([before, matrix.mean_iou(), matrix.counts.tolist()]))
"""

AUGMENT = """
import json, torch
from gpu_augment import GpuAugment
torch.manual_seed(1)
labels = torch.arange(8).view(1, 1, 8).expand(16, 4, 8).contiguous()
images = (labels * 30).to(torch.uint8)[:, None].expand(-1, 3, -1, -1).contiguous()
out, moved = GpuAugment(strength=0.0)(images, labels)
back = ((out * 0.5 + 0.5) * 255 / 30).round().long()[:, 0]
print(json.dumps({"agree": bool((back == moved).all()), "flipped": int((moved[:, 0, 0] == 7).sum()), "of": 16}))
"""

TINY = ("--device", "cpu", "--model", "t", "--batch-size", 2, "--crop-size", 64, 64, "--workers", 0)


def test_parameter_counts_are_the_reference_implementations(example):
    ours = json.loads(example("pp_liteseg").code(COUNT))
    for name, reference in REFERENCE.items():
        for part, count in reference.items():
            assert ours[name][part] == pytest.approx(count, rel=0.01), (name, part)
        assert ours[name]["total"] == reference["total"] - 3


def test_three_heads_while_training_and_one_in_evaluation(example):
    shapes = json.loads(example("pp_liteseg").code(SHAPES))
    assert shapes["train"] == [[2, 19, 64, 128]] * 3
    assert shapes["evaluation"] == [2, 19, 64, 128]
    assert shapes["features"] == [[256, 8, 16], [512, 4, 8], [1024, 2, 4]]


def test_hard_pixel_loss_equals_the_slow_way(example):
    found = json.loads(example("pp_liteseg").code(LOSS))
    for ours, expected, count in found["cases"]:
        assert ours == pytest.approx(expected, rel=1e-4), count
    assert len({count for _, _, count in found["cases"]}) >= 3  # the cases do choose different pixels
    assert found["ignored"] == 0.0


def test_mean_iou_leaves_out_ignored_pixels_and_absent_classes(example):
    before, after, counts = json.loads(example("pp_liteseg").code(METRIC))
    assert before == 0.0
    assert counts == [[1, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert after == pytest.approx((1 / 2 + 1 / 2) / 2)


def test_gpu_augmentation_flips_images_with_their_labels(example):
    found = json.loads(example("pp_liteseg").code(AUGMENT))
    assert found["agree"]
    assert 0 < found["flipped"] < found["of"]


def test_training_learns_validates_saves_and_resumes(example, tmp_path):
    job = example("pp_liteseg")
    job.script("make_dataset.py", "scenes", "--images", 10, "--size", 96, 64)
    assert len(list((tmp_path / "scenes" / "images" / "train").glob("*.jpg"))) == 8
    assert len(list((tmp_path / "scenes" / "labels" / "val").glob("*.png"))) == 2

    first = job.script("train.py", *TINY, "--data", "scenes", "--epochs", 10, "--lr", 0.05, "--save-dir", "out")
    losses = [float(text) for text in re.findall(r"loss (\S+),", first)]
    assert len(losses) == 10
    # One epoch is four steps of two images: its loss swings by a fifth, and differs from processor to processor.
    assert sum(losses[5:]) / 5 < 0.85 * losses[0]
    assert len(re.findall(r"mIoU (\S+)", first)) == 10
    assert (tmp_path / "out" / "last.pt").stat().st_size > 8_000_000 * 8  # weights and momentum in fp32

    arguments = ("--data", "scenes", "--save-dir", "out", "--resume", "out/last.pt", "--gpu-augment")
    second = job.script("train.py", *TINY, *arguments, "--epochs", 11, "--val-interval", 2)
    assert re.findall(r"epoch (\d+): loss", second) == ["11"]


def test_making_a_dataset_twice_gives_the_same_scenes(example, tmp_path):
    job = example("pp_liteseg")
    for name in ("one", "two"):
        job.script("make_dataset.py", name, "--images", 5, "--size", 64, 32)
    files = sorted(path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("scene_*"))
    assert len(files) == 10
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
