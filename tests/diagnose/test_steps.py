"""What happens within a step: copies, augmentation, first optimizer steps, logits, attention, inputs of any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.warm

Diagnose = Callable[..., dict[str, Any]]

MIB = 1 << 20


def test_copies_of_what_is_there_are_found_and_those_that_are_changed_are_not(diagnose: Diagnose) -> None:
    evidence = diagnose(
        """
import torch
from torch import nn
model = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def needed(x):
    noisy = x.clone()
    noisy.mul_(2)
    halves = x.to(torch.float16)
    return noisy, halves
def twice(host):
    first = host.cuda()
    second = host.to("cuda")
    return first, second
def needless(x):
    same = x.clone()
    return same
def once(host):
    return host.cuda()
for step in range(4):
    host = torch.randn(1024, 1024)
    first, second = twice(host)
    noisy, halves = needed(first)
    model(needless(first)).sum().backward()
    optimizer.step()
    other = once(torch.randn(1024, 1024))
""",
        options=("--steps", "all"),
    )
    found = {copy["line"].split(" in ")[1]: copy for copy in evidence["copies"]}
    assert set(found) == {"needless", "twice"}
    assert (found["needless"]["operation"], found["needless"]["bytes"]) == ("clone", 4 * MIB)
    assert (found["twice"]["operation"], found["twice"]["from_host"]) == ("to", True)
    assert found["twice"]["first_line"].endswith("in twice")
    assert found["twice"]["first_line"] != found["twice"]["line"]


AUGMENT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Conv2d(3, 4, 3, stride=8), nn.Flatten(), nn.LazyLinear(10)).cuda()
model(torch.zeros(1, 3, 256, 256, device="cuda"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def augment(x):
    jittered = x * 1.1
    flipped = jittered.flip(-1)
    return torch.cat([jittered, flipped]).clamp(0, 1)[: len(x)]
for (x,) in DataLoader(TensorDataset(torch.rand(64, 3, 256, 256)), 16, shuffle=True):
    x = x.cuda()
    AUGMENTED
    model(x).sum().backward()
    optimizer.step()
"""


def test_augmentation_on_the_card_and_its_share_of_the_peak(diagnose: Diagnose) -> None:
    evidence = diagnose(AUGMENT.replace("AUGMENTED", "x = augment(x)"))
    work = next(work for work in evidence["input_work"] if work["phase"] == "train")
    batch = 16 * 3 * 256 * 256 * 4
    assert work["peak_is_here"]
    assert work["stage_peak_bytes"] >= 4 * batch
    assert work["at_peak_bytes"] >= 4 * batch
    assert work["lines"][0]["line"].endswith("in augment")


def test_a_batch_that_is_only_moved_is_no_augmentation(diagnose: Diagnose) -> None:
    augmented, moved = (
        diagnose(AUGMENT.replace("AUGMENTED", line))["input_work"] for line in ("x = augment(x)", "pass")
    )
    assert any(work["at_peak_bytes"] > 0 for work in augmented)
    for work in moved:
        assert work["stage_peak_bytes"] == 0 or not work["peak_is_here"]
        assert work["at_peak_bytes"] == 0


ADAM = """
import torch
from torch import nn
model = nn.Sequential(*[nn.Linear(4096, 4096, bias=False) for _ in range(4)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    model(torch.randn(8, 4096).cuda()).sum().backward()
    optimizer.step(); optimizer.zero_grad()
"""


def test_the_first_optimizer_step_makes_the_state(diagnose: Diagnose) -> None:
    weights = 4 * 4096 * 4096 * 4
    (step,) = diagnose(ADAM, options=("--steps", "all"))["first_steps"]
    assert step["optimizer"] == "AdamW"
    assert step["state_bytes"] == step["expected_state_bytes"] == 2 * weights
    assert not step["out_of_memory"]
    assert step["peak_after_bytes"] > step["peak_before_bytes"]


def test_an_error_in_the_first_optimizer_step_is_told_as_such(diagnose: Diagnose) -> None:
    evidence = diagnose(ADAM, gpu="rtx3060:900MiB", fails=True)
    (step,) = evidence["first_steps"]
    assert step["out_of_memory"]
    assert step["expected_state_bytes"] == 8 * 4096 * 4096 * 4
    assert step["state_bytes"] < step["expected_state_bytes"]
    oom = evidence["oom"]
    assert (oom["phase"], oom["stage"], oom["train_steps"]) == ("train", "optimizer", 0)


LANGUAGE = """
import sys, torch
from torch import nn
import torch.nn.functional as F
V, T, D, H = 32000, 512, 256, 4
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
    def forward(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, H, D // H).permute(2, 0, 3, 1, 4)
        return x + self.out(self.attend(q, k, v).transpose(1, 2).reshape(x.shape))
    def attend(self, q, k, v):
        if "fused" in sys.argv: return F.scaled_dot_product_attention(q, k, v)
        return (q @ k.transpose(-2, -1) / 8).softmax(-1) @ v
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(V, D), nn.Sequential(Block(), Block())
        self.lm_head = nn.Linear(D, V, bias=False)
    def forward(self, tokens): return self.lm_head(self.blocks(self.embed(tokens)))
model = Model().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    length = T if "short" not in sys.argv else (64, 512, 128, 256)[step]
    tokens = torch.randint(0, V, (4, length)).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = model(tokens)
        loss = F.cross_entropy(logits.float().view(-1, V), tokens.view(-1))
    loss.backward()
    optimizer.step(); optimizer.zero_grad()
"""


def test_logits_and_their_fp32_copies_and_attention_scores(diagnose: Diagnose) -> None:
    evidence = diagnose(LANGUAGE, options=("--steps", "all"))
    (logits,) = evidence["logits"]
    assert (logits["module"], logits["classes"], logits["rows"]) == ("lm_head", 32000, 2048)
    assert logits["of_4_bytes"] >= 2  # the copy made by hand, and the loss's own
    assert logits["at_peak_bytes"] >= 2048 * 32000 * (2 + 4 + 4)
    (scores,) = evidence["attention"]
    assert (scores["length"], scores["calls"]) == (512, 2)
    assert scores["shape"].endswith("[4, 4, 512, 512]")
    assert scores["line"].endswith("Block.attend")


def test_fused_attention_writes_no_scores(diagnose: Diagnose) -> None:
    assert diagnose(LANGUAGE, "fused", options=("--steps", "all"))["attention"] == []


def test_inputs_of_different_lengths_come_with_what_each_needed(diagnose: Diagnose) -> None:
    inputs = diagnose(LANGUAGE, "short", options=("--steps", "all"))["inputs"]
    by_elements = {entry["elements"]: entry["peak_allocated_bytes"] for entry in inputs}
    assert sorted(by_elements) == [4 * 64, 4 * 128, 4 * 256, 4 * 512]
    assert by_elements[4 * 512] > by_elements[4 * 256] > by_elements[4 * 128]
    assert inputs[1]["shapes"] == "[4, 512] int64"
