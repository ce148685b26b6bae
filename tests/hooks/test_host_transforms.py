"""Transforms that the script calls with tensors of the card, in host memory instead (`host_transforms`)."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from hooked_job import Job

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="torchvision is not installed")

CARD = 8 << 30
SCRIPT = """
    import json, torch
    from torch import nn
    from torchvision import tv_tensors
    from torchvision.transforms import v2
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, stride=4), nn.AdaptiveAvgPool2d(1), nn.Flatten()).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    augment = #augment
    seen = []
    for _ in range(3):
        images = tv_tensors.Image(torch.rand(8, 3, 64, 64)).cuda()
        images = augment(tv_tensors.wrap(images, like=tv_tensors.Image(torch.zeros(3, 1, 1))))
        seen.append([type(images).__name__, images.device.type, list(images.shape)])
        optimizer.zero_grad()
        model(images.as_subclass(torch.Tensor)).square().mean().backward()
        optimizer.step()
    print(json.dumps({"seen": seen, "weights": [p.detach().double().flatten().tolist() for p in model.parameters()],
                      "peak": torch.cuda.max_memory_allocated()}))
"""
COMPOSED = "v2.Compose([v2.RandomHorizontalFlip(), v2.ColorJitter(0.3, 0.3), v2.GaussianBlur(5)])"
SEQUENCE = "nn.Sequential(v2.RandomVerticalFlip(), v2.GaussianBlur(5))"
PLAN = {"id": "host_transforms"}


def script(augment: str = COMPOSED) -> str:
    return SCRIPT.replace("#augment", augment)


@pytest.mark.parametrize("augment", [COMPOSED, SEQUENCE])
def test_transforms_work_on_the_host_and_train_the_same_to_rounding(job: Job, augment: str) -> None:
    # Cold: torchvision knows Tensor.to by identity, as it was where it was imported.
    plain = job.run(script(augment), card=CARD, VRAMFIT_VALUES="cpu", cold=True).output()
    finished = job.run(script(augment), PLAN, card=CARD, VRAMFIT_VALUES="cpu", cold=True)
    told = finished.output()
    assert told["seen"] == plain["seen"] == [["Image", "cuda", [8, 3, 64, 64]]] * 3
    assert told["peak"] < plain["peak"]
    for own, other in zip(plain["weights"], told["weights"]):
        assert own == pytest.approx(other, abs=1e-6)
    name = augment.partition("(")[0].rpartition(".")[2]
    assert finished.only("plan_applied")["text"] == f"{name} works on the host, and its result goes to the card"


def test_what_works_on_the_card_is_told(job: Job) -> None:
    note = job.run(script(), card=CARD).only("card_transform")
    assert note == {**note, "name": "Compose"}


def test_what_calls_no_transform_on_the_card_is_refused(job: Job) -> None:
    finished: Any = job.run(script("lambda images: images"), PLAN, card=CARD)
    text = "no transform of torchvision or kornia was called with tensors of the card"
    assert finished.only("plan_refused")["text"] == text
    assert finished.exit_code == 3
    assert not finished.of_kind("card_transform")


def test_a_transform_that_fails_leaves_the_next_one_as_it_was(job: Job) -> None:
    failing = """
    from torchvision.transforms import v2
    import json, torch
    images = torch.rand(2, 3, 8, 8).cuda()
    blur = v2.GaussianBlur(5)
    try:
        v2.Lambda(lambda image: 1 / 0)(images)
    except ZeroDivisionError:
        pass
    print(json.dumps(blur(images).device.type))
    """
    assert job.run(failing, PLAN, card=CARD).output() == "cuda"
