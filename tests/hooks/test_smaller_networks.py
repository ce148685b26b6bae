"""Networks that a library makes by a name or a config: what is told of them, and smaller ones in their place."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from hooked_job import STAGE, Job

sys.path.insert(0, str(STAGE / "python"))

from vramfit.observe.network_families import smaller_names

CARD = 8 << 30
needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)


@pytest.mark.parametrize(
    ("name", "known", "smaller"),
    [
        ("resnet152", ["resnet18", "resnet50", "resnet101", "wide_resnet50_2"], ["resnet101", "resnet50", "resnet18"]),
        ("resnext101_64x4d", ["resnext50_32x4d", "resnet50"], ["resnext50_32x4d"]),
        ("vit_large_patch16_224.augreg", ["vit_base_patch16_224", "vit_base_patch8_224"], ["vit_base_patch16_224"]),
        ("vit_h_14", ["vit_b_16", "vit_b_32", "vit_l_16", "vit_l_32"], ["vit_l_16", "vit_b_16"]),
        ("vit_l_32", ["vit_b_16", "vit_b_32"], ["vit_b_32"]),
        ("swin_b", ["swin_s", "swin_t", "swin_v2_t"], ["swin_s", "swin_t"]),
        (
            "efficientnet_b2",
            ["efficientnet_b1", "efficientnet_b0", "efficientnet_b3"],
            ["efficientnet_b1", "efficientnet_b0"],
        ),
        ("vgg16_bn", ["vgg13", "vgg13_bn", "vgg11_bn", "vgg11"], ["vgg13_bn", "vgg11_bn"]),
        ("resnet18", ["resnet50", "resnet18"], []),
        ("unet", ["resnet50"], []),
    ],
)
def test_the_next_smaller_names_of_a_family(name: str, known: list[str], smaller: list[str]) -> None:
    assert smaller_names(name, known) == smaller


TRAINS = """
    import json, torch
    {make}
    net = net.cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    images = torch.rand(2, 3, 64, 64).cuda()
    torch.nn.functional.cross_entropy(net(images), torch.zeros(2, dtype=torch.long).cuda()).backward()
    optimizer.step()
    print(json.dumps(sum(p.numel() for p in net.parameters())))
"""
MADE = {
    "torchvision": "import torchvision; net = torchvision.models.resnet34(num_classes=10)",
    "torchvision by name": "from torchvision.models import get_model; net = get_model('resnet34', num_classes=10)",
    "pytorch/examples": "import torchvision.models as models; net = models.__dict__['resnet34'](num_classes=10)",
    "timm": "import timm; net = timm.create_model('resnet34', num_classes=10)",
    "timm.models": "from timm.models import create_model; net = create_model('resnet34', num_classes=10)",
}
INSTEAD = {"id": "smaller_model", "from": "resnet34", "to": "resnet18"}


@pytest.mark.parametrize("made", MADE)
def test_a_smaller_network_takes_the_place_of_the_scripts_own(job: Job, made: str) -> None:
    library = made.partition(" ")[0].partition(".")[0].replace("pytorch/examples", "torchvision")
    script = TRAINS.format(make=MADE[made])
    plain = job.run(script, card=CARD)
    note = plain.only("network_made")
    assert (note["library"], note["name"], note["loaded"]) == (library, "resnet34", False)
    assert "resnet18" in note["smaller"]
    assert note["weights"] == plain.output() > 21_000_000
    changed = job.run(script, INSTEAD, card=CARD)
    assert 11_000_000 < changed.output() < 12_000_000
    assert changed.only("plan_applied")["text"] == "resnet18 instead of resnet34"
    assert not changed.of_kind("network_made"), "the script's own was not made"


BERT = """
    import json, torch
    from transformers import BertConfig, BertForSequenceClassification
    config = BertConfig(hidden_size={hidden}, num_hidden_layers={layers}, num_attention_heads={hidden} // 64,
                        intermediate_size=4 * {hidden}, vocab_size=128, num_labels=2)
    net = BertForSequenceClassification(config).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    words = torch.zeros(2, 16, dtype=torch.long).cuda()
    net(input_ids=words, labels=words[:, 0]).loss.backward()
    optimizer.step()
    print(json.dumps([net.config.hidden_size, net.config.num_hidden_layers, net.classifier.in_features]))
"""


@needs_transformers
def test_a_config_of_transformers_is_that_of_a_smaller_member(job: Job) -> None:
    script = BERT.format(hidden=768, layers=12)
    note = job.run(script, card=CARD).only("network_made")
    assert (note["name"], note["smaller"]) == ("bert-base", ["bert-medium", "bert-small"])
    changed = job.run(script, {"id": "smaller_model", "from": "bert-base", "to": "bert-small"}, card=CARD)
    assert changed.output() == [512, 4, 512]
    assert changed.only("plan_applied")["text"] == "bert-small instead of bert-base"


@needs_transformers
def test_a_config_of_no_published_size_is_told_by_its_sizes(job: Job) -> None:
    note = job.run(BERT.format(hidden=1024, layers=20), card=CARD).only("network_made")
    assert note["name"] == "bert of 20 layers x 1024"
    assert note["smaller"] == ["bert-base", "bert-medium", "bert-small"]


def test_a_network_that_was_not_made_is_named_before_training(job: Job) -> None:
    script = TRAINS.format(make=MADE["torchvision"])
    finished = job.run(script, {"id": "smaller_model", "from": "resnet152", "to": "resnet18"}, card=CARD)
    assert finished.only("plan_refused")["text"] == (
        "the script made no resnet152 by a name or a config: it made resnet34"
    )
    assert finished.exit_code == 3


def test_what_can_not_be_made_refuses_the_plan(job: Job) -> None:
    script = TRAINS.format(make=MADE["timm"])
    finished = job.run(script, {"id": "smaller_model", "from": "resnet34", "to": "resnet3"}, card=CARD)
    assert "resnet3 could not be made instead of resnet34" in finished.only("plan_refused")["text"]


def test_makers_within_makers_are_one_network(job: Job) -> None:
    script = """
        import torch, torchvision
        torchvision.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None)
    """
    assert [note["name"] for note in job.run(script, card=CARD).of_kind("network_made")] == ["fcn_resnet50"]
