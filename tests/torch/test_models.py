"""Networks of torchvision, timm and transformers, unmodified, with random weights: they train and evaluate."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from card_run import run_script

sys.path.insert(0, str(Path(__file__).parent / "scripts"))

GROUPS = {
    "torchvision": (
        "resnet50", "convnext_tiny", "swin_t", "mobilenet_v3_small", "efficientnet_b0", "vgg11_bn", "vit_b_16",
        "deeplabv3_resnet50", "fasterrcnn", "raft_small",
    ),
    "timm": ("timm vit_tiny_patch16_224", "timm efficientnet_lite0", "timm mixer_s32_224", "timm levit_128s"),
    "transformers": (
        "transformers bert", "transformers gpt2", "transformers llama", "transformers t5", "transformers whisper",
        "transformers clip",
    ),
}  # fmt: skip


@pytest.mark.parametrize("package", list(GROUPS))
def test_models_train_and_evaluate_and_need_the_same_every_time(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"this environment has no {package}")
    names = GROUPS[package]
    first = {line["name"]: line for line in run_script("model_zoo.py", *names).lines()}
    assert [line for line in first.values() if "error" in line] == []
    assert set(first) == set(names)
    for line in first.values():
        # weights, gradients and AdamW's moments are there at once; evaluation holds the weights and moments
        assert line["train"] >= 4 * line["parameters"] > 0, line
        assert 3 * line["parameters"] <= line["eval"] <= line["train"], line
    again = names[: len(names) // 2]
    second = {line["name"]: line for line in run_script("model_zoo.py", *again).lines()}
    assert second == {name: first[name] for name in again}
