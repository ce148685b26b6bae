"""A training loop as people write it: a small script whose parameters after a few steps can be compared.

A habit is the middle of a script: BEGIN gives it data, a model and `steps`, END prints what training left. What a habit
wants compared beside parameters and optimizer state goes into `seen`.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field

BEGIN = """
import copy, itertools, json, math, random
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler, TensorDataset

torch.manual_seed(0)
inputs, targets, labels = torch.randn(24, 6), torch.randn(24, 3), torch.randint(0, 3, (24,))
regression, classes = TensorDataset(inputs, targets), TensorDataset(inputs, labels)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Sequential(nn.Linear(16, 16), nn.Tanh()), nn.Linear(16, 3))
model.to("cuda")
kept, seen = {"model": model}, {}

def state(values):
    return {name: value.detach().double().flatten().tolist() for name, value in values.items()}

def states():
    return {f"{name}.{key}": value for name, part in kept.items() for key, value in state(part.state_dict()).items()}
"""

END = """
moments = {}
for number, one in enumerate([o for o in globals().values() if isinstance(o, torch.optim.Optimizer)]):
    for index, values in one.state_dict()["state"].items():
        tensors = {k: v for k, v in values.items() if torch.is_tensor(v)} if isinstance(values, dict) else {}
        moments.update({f"{number}.{index}.{name}": v for name, v in state(tensors).items()})
print(json.dumps({"before": before, "after": states(), "moments": moments, "seen": seen}))
"""


@dataclass(frozen=True)
class Habit:
    name: str
    text: str
    needs: str = ""  # a package
    # What a technique may answer beside its own promise ("same" for micro_batch, and so on): by technique.
    expected: dict[str, str] = field(default_factory=dict)

    def script(self) -> str:
        # What was before training is read when the habit's `before` line is reached, after it has made its models.
        body = textwrap.dedent(self.text).replace("BEFORE", "before = states()")
        return BEGIN + body + END


def change_loop(
    make: str = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)",
    loader: str = "loader = DataLoader(regression, batch_size=8)",
    loss: str = "loss = F.mse_loss(model(x), y)",
    step: str = "optimizer.zero_grad(); loss.backward(); optimizer.step()",
    epoch_end: str = "pass",
) -> str:
    """The usual loop, with one thing about it changed."""

    def inside(text: str, depth: int) -> str:
        return textwrap.indent(textwrap.dedent(text).strip(), " " * depth)

    return "\n".join(
        [
            inside(make, 0),
            inside(loader, 0),
            "BEFORE",
            "for epoch in range(2):",
            "    for x, y in loader:",
            "        x, y = x.cuda(), y.cuda()",
            inside(loss, 8),
            inside(step, 8),
            inside(epoch_end, 4),
        ]
    )


def numbered_loop(first: int = 0, **parts: str) -> str:
    """One whose rounds have a number, `index`."""
    start = f", {first}" if first else ""
    return change_loop(**parts).replace("for x, y in loader", f"for index, (x, y) in enumerate(loader{start})")


def loop_with_module(body: str) -> str:
    """The usual loop, with a module of the script's around the network."""
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    made = f"class Own(nn.Module):\n{text}\nmodel = Own(model).to('cuda'); kept['model'] = model\n"
    return change_loop(make=made + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")


SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"
ADAM = "optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)\n"
SCALED = "optimizer.zero_grad(); scaler.scale(loss).backward(); {}; scaler.step(optimizer); scaler.update()"

# Masks that only the last batch of a pass has, and of it the second part alone, or all of that.
MASKED = SGD + "targets[18, :2] = -9; targets[{}] = -9; regression = TensorDataset(inputs, targets)"
LATE_MASK = MASKED.format("22:24, 1:")
EMPTY_PART = MASKED.format("20:22")
EACH = """
            mask = (y > -9).float()
            each = (model(x) - y).pow(2) * mask
"""
