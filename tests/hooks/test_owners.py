"""Who holds the memory of a card is called by its right name: exact bytes, of PyTorch's own blocks."""

from __future__ import annotations

import importlib.util

import pytest
from held_at_peak import held_at_peak
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30
MIB = 1 << 20

# Eight layers of 1024 x 1024, without biases: each 4 MiB, all of them 32 MiB.
MODEL = """
import copy, torch

def layers(count=8):
    return torch.nn.Sequential(*[torch.nn.Linear(1024, 1024, bias=False) for _ in range(count)])

def batch():
    return torch.randn(64, 1024, device="cuda")

model = layers().cuda()
"""
WHOLE = 32 * MIB


STEP_BY_HAND = """
for _ in range(4):
    model(batch()).square().mean().backward()
    with torch.no_grad():
        for p in model.parameters():
            p -= 1e-3 * p.grad
            p.grad = None
"""


def test_gradients_without_an_optimizer(job: Job) -> None:
    held = held_at_peak(job.run(MODEL + STEP_BY_HAND, card=CARD))
    assert held.bytes["gradient"] == WHOLE
    assert held.bytes["weight"] == WHOLE
    assert "0.weight" in held.names["gradient"]


def test_gradients_that_are_only_accumulated(job: Job) -> None:
    script = MODEL + "for _ in range(4):\n    model(batch()).square().mean().backward()\n"
    assert held_at_peak(job.run(script, card=CARD)).bytes["gradient"] == WHOLE


def test_gradients_that_are_asked_for(job: Job) -> None:
    script = (
        MODEL
        + """
for _ in range(3):
    kept = torch.autograd.grad(model(batch()).square().mean(), list(model.parameters()))
    room = torch.empty(64 << 20, device="cuda")
    del kept, room
"""
    )
    assert held_at_peak(job.run(script, card=CARD)).bytes["gradient"] == WHOLE


def test_the_gradient_of_an_input_is_none_of_a_weight(job: Job) -> None:
    script = (
        MODEL
        + """
x = torch.randn(4096, 1024, device="cuda", requires_grad=True)
for _ in range(3):
    slope, = torch.autograd.grad(model(x).square().mean(), x)
    room = torch.empty(64 << 20, device="cuda")
    del slope, room
"""
    )
    assert "gradient" not in held_at_peak(job.run(script, card=CARD)).bytes


def test_weights_without_a_module(job: Job) -> None:
    script = """
    import torch
    weights = [torch.randn(1024, 1024, device="cuda", requires_grad=True) for _ in range(8)]
    for _ in range(4):
        x = torch.randn(64, 1024, device="cuda")
        for w in weights:
            x = torch.relu(x @ w)
        x.sum().backward()
        with torch.no_grad():
            for w in weights:
                w -= 1e-3 * w.grad
                w.grad = None
    """
    held = held_at_peak(job.run(script, card=CARD))
    assert (held.bytes["weight"], held.bytes["gradient"]) == (WHOLE, WHOLE)


PENALTY = """
def main():
    faker = layers(2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    other = torch.optim.SGD(faker.parameters(), lr=0.1, foreach=False)
    for number in range(6):
        images = torch.randn(4096, 1024, device="cuda").requires_grad_()
        model(images).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        faker(batch()).square().mean().backward()
        other.step()
        other.zero_grad()
        if number == 0: room = torch.empty(256 << 20, device="cuda")
        room = None

main()
"""


def test_images_whose_gradient_is_asked_for_are_none_of_the_weights(job: Job) -> None:
    """They are there at the steps of both optimizers of a GAN, and are not moved in between."""
    held = held_at_peak(job.run(MODEL + PENALTY, card=CARD))
    assert (held.bytes["weight"], held.bytes["input"]) == (WHOLE + 2 * 4 * MIB, 16 * MIB)


MOVED = """
image = torch.randn(16, 1024, 1024, device="cuda", requires_grad=True)
optimizer = torch.optim.Adam([image])
for _ in range(6):
    (model(image) ** 2).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_what_an_optimizer_moves_and_no_model_has_is_named(job: Job) -> None:
    assert job.run(MODEL + MOVED, card=CARD).only("optimizer")["moved_bytes"] == 64 * MIB
    plain = MODEL + MOVED.replace("[image]", "model.parameters()")
    assert job.run(plain, card=CARD).only("optimizer")["moved_bytes"] == 0


def training(before: str, after_step: str, forward: str = "model(batch())") -> str:
    """A loop within a function, as most are: its variables are gone at the script's end."""
    lines = "".join(f"        {line}\n" for line in after_step.strip().splitlines())
    setup = "".join(f"    {line}\n" for line in before.strip().splitlines())
    return f"""{MODEL}
def main():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=False)
{setup}
    for _ in range(6):
        ({forward}).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
{lines}
main()
"""


AVERAGES = {
    "AveragedModel": (
        "from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn\n"
        "average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))",
        "average.update_parameters(model)",
    ),
    "timm V2": ("from timm.utils import ModelEmaV2\naverage = ModelEmaV2(model)", "average.update(model)"),
    "timm V3": ("from timm.utils import ModelEmaV3\naverage = ModelEmaV3(model)", "average.update(model)"),
    "deepcopy": (
        "twin = copy.deepcopy(model)",
        "with torch.no_grad():\n    for a, b in zip(twin.parameters(), model.parameters()): a.lerp_(b, 0.01)",
    ),
    "state dict": (
        "twin = {k: v.detach().clone() for k, v in model.state_dict().items()}",
        "with torch.no_grad():\n    for k, v in model.state_dict().items(): twin[k].mul_(0.99).add_(v, alpha=0.01)",
    ),
    "list of an object": (
        "class Twin: pass\ntwin = Twin()\ntwin.tensors = [p.detach().clone() for p in model.parameters()]",
        "with torch.no_grad():\n    for a, b in zip(twin.tensors, model.parameters()): a.lerp_(b, 0.01)",
    ),
}


@pytest.mark.parametrize("kind", AVERAGES)
def test_an_average_of_the_weights(job: Job, kind: str) -> None:
    if kind.startswith("timm"):
        assert importlib.util.find_spec("timm") is not None
    held = held_at_peak(job.run(training(*AVERAGES[kind]), card=CARD))
    assert (held.bytes["average"], held.bytes["weight"], held.bytes["optimizer"]) == (WHOLE, WHOLE, WHOLE), held
    assert not held.bytes["other_model"]


OTHERS = {
    "frozen copy": ("teacher = copy.deepcopy(model).requires_grad_(False)", WHOLE),
    "copy": ("teacher = copy.deepcopy(model)", WHOLE),
    "larger and frozen": ("teacher = layers(12).cuda().requires_grad_(False)", 48 * MIB),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_beside_the_one_that_is_trained(job: Job, kind: str) -> None:
    before, size = OTHERS[kind]
    script = training(before, "", "model(batch()) - with_no_grad(teacher)")
    script = script.replace(
        "def main", "@torch.no_grad()\ndef with_no_grad(other):\n    return other(batch())\n\ndef main"
    )
    held = held_at_peak(job.run(script, card=CARD))
    assert (held.bytes["other_model"], held.bytes["weight"]) == (size, WHOLE), held
    assert held.names["other_model"] == {"teacher"}


def test_a_target_inside_the_trained_model(job: Job) -> None:
    script = f"""{MODEL}
class Pair(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.online, self.target = model, copy.deepcopy(model).requires_grad_(False)
    def forward(self, x):
        with torch.no_grad():
            wanted = self.target(x)
        return self.online(x) - wanted

pair = Pair()
optimizer = torch.optim.SGD(pair.online.parameters(), lr=0.1, momentum=0.9, foreach=False)
for _ in range(4):
    pair(batch()).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    held = held_at_peak(job.run(script, card=CARD))
    assert (held.bytes["other_model"], held.bytes["weight"]) == (WHOLE, WHOLE), held
    assert held.names["other_model"] == {"target"}


def test_frozen_layers_are_weights(job: Job) -> None:
    script = training("for p in list(model.parameters())[:6]: p.requires_grad_(False)", "")
    held = held_at_peak(job.run(script, card=CARD))
    assert held.bytes["weight"] == WHOLE
    assert not held.bytes["other_model"] + held.bytes["average"]


MASTERS = """
def main():
    model.half()
    master = [p.detach().clone().float().requires_grad_() for p in model.parameters()]
    MORE
    optimizer = torch.optim.SGD(master, lr=0.1, momentum=0.9, foreach=False)
    for _ in range(4):
        model(batch().half()).float().square().mean().backward()
        GIVE
        STEP
        for p in (*model.parameters(), *master): p.grad = None
main()
"""


@pytest.mark.parametrize("kind", ["list", "flat", "stepped by hand"])
def test_masters_of_the_weights(job: Job, kind: str) -> None:
    more, step = "pass", "optimizer.step()"
    give = "for a, p in zip(master, model.parameters()): a.grad = p.grad.float()"
    if kind == "flat":
        more = "master = [torch.cat([p.detach().reshape(-1) for p in master]).requires_grad_()]"
        give = "master[0].grad = torch.cat([p.grad.float().reshape(-1) for p in model.parameters()])"
    script = MODEL + MASTERS.replace("MORE", more).replace("GIVE", give).replace("STEP", step)
    if kind == "stepped by hand":
        script = script.replace("optimizer = torch.optim.SGD(master, lr=0.1, momentum=0.9, foreach=False)", "")
        script = script.replace("optimizer.step()", "[a.detach().sub_(a.grad) for a in master]")
    held = held_at_peak(job.run(script, card=CARD))
    assert (held.bytes["master"], held.bytes["weight"]) == (WHOLE, WHOLE // 2), held


def test_codes_in_a_buffer_and_what_reads_them(job: Job) -> None:
    script = """
    import torch
    class Packed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.zeros(256, 2048, dtype=torch.int32))  # 2 MiB
            self.register_buffer("scales", torch.zeros(128, 2048, dtype=torch.half))  # 512 KiB
            self.register_buffer("places", torch.zeros(65536, dtype=torch.int32))  # 256 KiB
        def forward(self, x):
            return x * self.scales[0].float()
    model = torch.nn.Sequential(*[Packed() for _ in range(4)]).cuda()
    with torch.no_grad():
        for _ in range(3):
            model(torch.randn(8, 2048, device="cuda"))
    """
    held = held_at_peak(job.run(script, card=CARD))
    assert (held.bytes["weight"], held.bytes["quantization"]) == (8 * MIB, 3 * MIB)
