"""Training loops as people write them: each a small script whose parameters after a few steps can be compared.

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


def _numbered_loop(first: int = 0, **parts: str) -> str:
    """One whose rounds have a number, `index`."""
    start = f", {first}" if first else ""
    return change_loop(**parts).replace("for x, y in loader", f"for index, (x, y) in enumerate(loader{start})")


def _module(body: str) -> str:
    """The usual loop, with a module of the script's around the network."""
    text = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    made = f"class Own(nn.Module):\n{text}\nmodel = Own(model).to('cuda'); kept['model'] = model\n"
    return change_loop(make=made + "optimizer = torch.optim.SGD(model.parameters(), lr=0.1)")


SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)\n"
ADAM = "optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)\n"
SCALED = "optimizer.zero_grad(); scaler.scale(loss).backward(); {}; scaler.step(optimizer); scaler.update()"

ATTENDS = """
attention = nn.MultiheadAttention(3, 1, dropout={}).to("cuda"); kept["attention"] = attention
optimizer = torch.optim.SGD([*model.parameters(), *attention.parameters()], lr=0.1)"""
ATTENDED = """
            tokens, _ = attention(*3 * [model(x)[:, None]])
            loss = F.mse_loss(tokens[:, 0], y)"""

# Masks that only the last batch of a pass has, and of it the second part alone, or all of that.
MASKED = SGD + "targets[18, :2] = -9; targets[{}] = -9; regression = TensorDataset(inputs, targets)"
LATE_MASK = MASKED.format("22:24, 1:")
EMPTY_PART = MASKED.format("20:22")
EACH = """
            mask = (y > -9).float()
            each = (model(x) - y).pow(2) * mask
"""

HABITS = [
    Habit("plain", change_loop()),
    Habit("AdamW", change_loop(make=ADAM)),
    Habit("zero_grad after the step", change_loop(step="loss.backward(); optimizer.step(); optimizer.zero_grad()")),
    Habit("model.zero_grad", change_loop(step="model.zero_grad(); loss.backward(); optimizer.step()")),
    Habit(
        "zero_grad(set_to_none=False)",
        change_loop(step="optimizer.zero_grad(set_to_none=False); loss.backward(); optimizer.step()"),
    ),
    Habit(
        "zero_grad(set_to_none=False), a branch that ends",
        change_loop(
            make="""
            branch = nn.Linear(16, 3).to("cuda"); kept["branch"] = branch
            parameters = [*model.parameters(), *branch.parameters()]
            optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)""",
            loss="""
            hidden = model[:3](x)
            loss = F.mse_loss(model[3](hidden) if epoch == 0 else branch(hidden), y)""",
            step="""
            loss.backward(); nn.utils.clip_grad_norm_(parameters, 0.3)
            optimizer.step(); optimizer.zero_grad(set_to_none=False)""",
        ),
    ),
    Habit(
        "zero_grad(set_to_none=False), gradients looked at",
        change_loop(
            make=SGD + "seen['zeroed'] = []",
            step="""
            loss.backward(); optimizer.step(); optimizer.zero_grad(set_to_none=False)
            seen["zeroed"].append(float(model[0].weight.grad.abs().sum()))""",
        ),
    ),
    Habit(
        "p.grad = None",
        change_loop(step="loss.backward(); optimizer.step()\nfor p in model.parameters(): p.grad = None"),
    ),
    Habit(
        "p.grad.zero_()",
        change_loop(
            step="""
            for p in model.parameters():
                if p.grad is not None: p.grad.zero_()
            loss.backward(); optimizer.step()"""
        ),
    ),
    Habit(
        "own bf16 autocast",
        change_loop(loss="with torch.autocast('cuda', torch.bfloat16): loss = F.mse_loss(model(x), y)"),
    ),
    Habit(
        "disabled GradScaler",
        change_loop(make=SGD + "scaler = torch.amp.GradScaler('cuda', enabled=False)", step=SCALED.format("pass")),
    ),
    Habit(
        "enabled GradScaler without autocast",
        change_loop(make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)", step=SCALED.format("pass")),
    ),
    Habit(
        "GradScaler, unscale_, clipping",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            step=SCALED.format("scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)"),
        ),
    ),
    Habit(
        "disabled GradScaler, unscale_, clipping",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', enabled=False)",
            step=SCALED.format("scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)"),
        ),
    ),
    Habit(
        "own fp16 autocast and GradScaler",
        change_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=1024.0)",
            loss="with torch.autocast('cuda', torch.float16): loss = F.mse_loss(model(x), y)",
            step=SCALED.format("pass"),
        ),
    ),
    Habit(
        "clip_grad_norm_",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.3); optimizer.step()"""
        ),
    ),
    Habit(
        "clip_grad_value_",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.02); optimizer.step()"""
        ),
    ),
    Habit(
        "clipping by hooks on parameters",
        change_loop(make=SGD + "for p in model.parameters(): p.register_hook(lambda g: g.clamp(-0.02, 0.02))"),
    ),
    Habit(
        "clipping by hand",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            for p in model.parameters(): p.grad.mul_((0.3 / norm).clamp(max=1))
            optimizer.step()"""
        ),
    ),
    Habit(
        "gradients logged",
        change_loop(
            make=SGD + "seen['norms'] = []",
            step="""
            optimizer.zero_grad(); loss.backward()
            seen['norms'].append(float(torch.stack([p.grad.norm() for p in model.parameters()]).norm()))
            optimizer.step()""",
        ),
    ),
    Habit(
        "scheduler per step",
        change_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6); seen['lr'] = []",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); schedule.step()",
            epoch_end="seen['lr'].append(schedule.get_last_lr()[0])",
        ),
    ),
    Habit(
        "scheduler per epoch",
        change_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5); seen['lr'] = []",
            epoch_end="schedule.step(); seen['lr'].append(schedule.get_last_lr()[0])",
        ),
    ),
    Habit(
        "learning rate by a counter",
        change_loop(
            make=SGD + "done = 0",
            step="""
            for group in optimizer.param_groups: group['lr'] = 0.1 * (1 - done / 6)
            optimizer.zero_grad(); loss.backward(); optimizer.step(); done += 1""",
        ),
    ),
    Habit(
        "a weight of the loss by a counter",
        change_loop(
            make=SGD + "it = 0",
            loss="""
            it += 1
            weight = 0.0 if it < 5 else min(1.0, it / 1000)
            out = model(x)
            loss = F.mse_loss(out, y) + weight * out.abs().mean()""",
        ),
    ),
    Habit(
        "a weight of the loss by the round",
        _numbered_loop(loss="loss = F.mse_loss(model(x), y) * min(1.0, (index + 1) / 4)"),
    ),
    Habit(
        "a break by the round, after the step",
        _numbered_loop(
            first=1,
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == 2: break""",
        ),
    ),
    Habit(
        "a break by the round, before the step",
        _numbered_loop(
            loss="""
            if index >= 2: break
            loss = F.mse_loss(model(x), y)"""
        ),
    ),
    Habit(
        "a break by the round that weighs too",
        _numbered_loop(
            loss="loss = F.mse_loss(model(x), y) * (index + 1) / 4",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == 1: break""",
        ),
    ),
    Habit(
        "a loss by the average of losses",
        change_loop(
            make=SGD + "usual = 1.0",
            loss="""
            loss = F.mse_loss(model(x), y)
            usual = 0.9 * usual + 0.1 * loss.item()
            loss = loss / usual""",
        ),
    ),
    Habit(
        "a break by a counter",
        change_loop(
            make=SGD + "it = 0",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step(); it += 1
            if it >= 4: break""",
        ),
    ),
    Habit(
        "an average that begins late",
        change_loop(
            make=SGD + "averaged = copy.deepcopy(model); kept['averaged'] = averaged; it = 0",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step(); it += 1
            if it > 4:
                with torch.no_grad():
                    for mean, p in zip(averaged.parameters(), model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "an average of weights in a list",
        change_loop(
            make="""
            import types
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averaged = [p.detach().clone() for p in model.parameters()]
            kept["averaged"] = types.SimpleNamespace(state_dict=lambda: {str(i): m for i, m in enumerate(averaged)})""",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            with torch.no_grad():
                for mean, p in zip(averaged, model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "an average from a later epoch on",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            averaged = copy.deepcopy(model); kept["averaged"] = averaged
            def average(mean, model):
                with torch.no_grad():
                    for one, p in zip(mean.parameters(), model.parameters()): one.lerp_(p, 0.1)""",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if epoch >= 1: average(averaged, model)""",
        ),
    ),
    Habit(
        "a counter that only tells",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            it, total, dry_run = 0, 0.0, False
            def train_step(model, x, y, index):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                optimizer.step()
                if index % 100 == 0: print("step", index, loss.item())
                return loss
            def evaluate(model):
                with torch.no_grad(): return float(model(inputs[:4].cuda()).sum())""",
            loss="it += 1",
            step="""
            loss = train_step(model, x, y, it)
            total += loss.item()
            if it % 3 == 0:
                print(it, total / it, optimizer.param_groups[0]["lr"])
                evaluate(model)
                if dry_run: break""",
        ),
    ),
    Habit(
        "a smaller last batch", change_loop(loader="loader = DataLoader(TensorDataset(inputs[:21], targets[:21]), 8)")
    ),
    Habit("shuffled", change_loop(loader="loader = DataLoader(regression, 8, shuffle=True)")),
    Habit(
        "batch_sampler",
        change_loop(
            loader="loader = DataLoader(regression, batch_sampler=BatchSampler(RandomSampler(regression), 8, False))"
        ),
    ),
    Habit(
        "a list of batches", change_loop(loader="loader = [(inputs[i:i + 8], targets[i:i + 8]) for i in (0, 8, 16)]")
    ),
    Habit(
        "a loader made anew each epoch",
        SGD
        + """
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        loss = F.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "steps counted, next(it)",
        SGD
        + """
loader = DataLoader(regression, batch_size=8)
BEFORE
batches = iter(loader)
for step in range(5):
    try:
        x, y = next(batches)
    except StopIteration:
        batches = iter(loader)
        x, y = next(batches)
    loss = F.mse_loss(model(x.cuda()), y.cuda())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "an endless generator",
        SGD
        + """
def cycle(loader):
    while True:
        yield from loader

BEFORE
for step, (x, y) in enumerate(cycle(DataLoader(regression, batch_size=8))):
    if step == 5: break
    loss = F.mse_loss(model(x.cuda()), y.cuda())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit("reduction='sum'", change_loop(loss="loss = 0.02 * F.mse_loss(model(x), y, reduction='sum')")),
    Habit(
        "ignore_index",
        change_loop(
            make=SGD + "labels[1:5] = -100; labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y)",
        ),
    ),
    Habit(
        "cross entropy, no label left out",
        change_loop(
            loader="loader = DataLoader(classes, batch_size=8)", loss="loss = nn.CrossEntropyLoss()(model(x), y)"
        ),
    ),
    Habit(
        "class weights",
        change_loop(
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y, weight=torch.tensor([1., 2., 5.], device='cuda'))",
        ),
    ),
    Habit(
        "a sum divided by its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = each.sum() / mask.sum()"),
    ),
    Habit(
        "a sum divided by its mask, an empty part",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / mask.sum()"),
    ),
    Habit(
        "a sum divided by its mask or 1",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / mask.sum().clamp(min=1)"),
    ),
    Habit(
        "a sum divided by a count that is read",
        change_loop(make=EMPTY_PART, loss=EACH + "            loss = each.sum() / max(int(mask.sum()), 1)"),
    ),
    Habit(
        "a sum times one over its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = 0.5 * (each.sum() * (1 / mask.sum()))"),
    ),
    Habit(
        "a mean divided by that of its mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = each.mean() / mask.mean()"),
    ),
    Habit(
        "two sums divided by one mask",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = (each.sum() + each.pow(2).sum()) / mask.sum()"),
    ),
    Habit(
        "a mean over what a mask chooses",
        change_loop(make=LATE_MASK, loss=EACH + "            loss = F.mse_loss(model(x)[mask > 0], y[mask > 0])"),
    ),
    Habit(
        "a sum divided by its mask, scaled",
        change_loop(
            make=LATE_MASK + "; scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loss=EACH + "            loss = each.sum() / mask.sum()",
            step=SCALED.format("pass"),
        ),
    ),
    Habit(
        "a sum divided by its mask, and another term",
        change_loop(
            make=LATE_MASK, loss=EACH + "            loss = each.sum() / mask.sum() + 0.1 * model(x).pow(2).mean()"
        ),
    ),
    Habit(
        "a mean over what a mask chooses, and another term",
        change_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = F.mse_loss(model(x)[mask > 0], y[mask > 0]) + 0.1 * model(x).pow(2).mean()",
        ),
    ),
    Habit(
        "a sum divided by a count that is read, and another term",
        change_loop(
            make=LATE_MASK, loss=EACH + "            loss = each.sum() / int(mask.sum()) + 0.1 * model(x).pow(2).mean()"
        ),
    ),
    Habit(
        "two masked losses, one after the other",
        change_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = each.sum() / mask.sum(); more = 0.1 * model(x).pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "ignore_index, a part of the loss",
        change_loop(
            make=SGD + "labels[1:5] = -100; labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=8)",
            loss="loss = F.cross_entropy(model(x), y) / 2",
        ),
    ),
    Habit(
        "a module that counts its forwards",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.step = net, 0
            def forward(self, x):
                self.step += 1
                return self.net(x) * min(1.0, 0.3 + self.step / 5)"""),
    ),
    Habit(
        "a module that counts in a buffer",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net = net; self.register_buffer("step", torch.zeros((), dtype=torch.long))
            def forward(self, x):
                self.step += 1
                return self.net(x) * (0.3 + self.step / 5).clamp(max=1.0)"""),
    ),
    Habit(
        "a module whose temperature falls",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.heat = net, 1.0
            def forward(self, x):
                self.heat *= 0.9
                return self.net(x) * self.heat"""),
    ),
    Habit(
        "a module that averages what it sees",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.usual = net, 1.0
            def forward(self, x):
                out = self.net(x)
                self.usual = 0.5 * self.usual + 0.5 * float(out.abs().mean())
                return out / self.usual"""),
    ),
    Habit(
        "a module that averages from its fourth forward on",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.step, self.usual = net, 0, 1.0
            def forward(self, x):
                out = self.net(x)
                self.step += 1
                if self.step > 4: self.usual = 0.5 * self.usual + 0.5 * float(out.abs().mean())
                return out / self.usual"""),
    ),
    Habit(
        "a module that keeps an average in a buffer",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net = net; self.register_buffer("usual", torch.ones(3))
            def forward(self, x):
                out = self.net(x)
                with torch.no_grad(): self.usual.lerp_(out.abs().mean(0), 0.5)
                return out / self.usual"""),
    ),
    Habit(
        "a module that notes what it sees",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net = net
            def forward(self, x):
                out = self.net(x)
                self.size, self.seen = len(x), float(out.abs().mean())
                return out * (self.size / self.size)"""),
    ),
    Habit(
        "a module that begins with its first batch",
        _module("""
            def __init__(self, net):
                super().__init__()
                self.net, self.ready = net, False
            def forward(self, x):
                out = self.net(x)
                if not self.ready:
                    self.scale = float(out.abs().mean()); self.ready = True
                return out / (1.0 + self.scale)"""),
    ),
    Habit(
        "a loss that counts",
        change_loop(
            make="""
            class Annealed(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.beta = 0.1
                def forward(self, out, y):
                    self.beta = min(1.0, self.beta * 1.5)
                    return self.beta * F.mse_loss(out, y)
            optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), Annealed()""",
            loss="loss = criterion(model(x), y)",
        ),
    ),
    Habit(
        "spectral norm",
        change_loop(make="nn.utils.parametrizations.spectral_norm(model[2][0])\n" + SGD),
    ),
    Habit(
        "spectral norm by a hook",
        change_loop(make="nn.utils.spectral_norm(model[2][0])\n" + SGD),
    ),
    Habit(
        "weight norm",
        change_loop(make="nn.utils.parametrizations.weight_norm(model[2][0])\n" + SGD),
    ),
    Habit(
        "two optimizers, one step",
        change_loop(
            make="""
            optimizer = torch.optim.SGD(model[0].parameters(), lr=0.1)
            other = torch.optim.AdamW(model[2:].parameters(), lr=0.01)""",
            step="""
            optimizer.zero_grad(); other.zero_grad(); loss.backward()
            optimizer.step(); other.step()""",
        ),
    ),
    Habit(
        "GAN: two optimizers in turn",
        """
judge = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).to('cuda')
kept['judge'] = judge
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
judging = torch.optim.Adam(judge.parameters(), lr=0.01)
logit = nn.BCEWithLogitsLoss()
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        x, y = x.cuda(), y.cuda()
        made = model(x)
        real, false = judge(y), judge(made.detach())
        loss = logit(real, torch.ones_like(real)) + logit(false, torch.zeros_like(false))
        judging.zero_grad(); loss.backward(); judging.step()
        answer = judge(made)
        loss = logit(answer, torch.ones_like(answer))
        optimizer.zero_grad(); loss.backward(); optimizer.step()
""",
    ),
    Habit(
        "LBFGS with a closure",
        """
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        x, y = x.cuda(), y.cuda()
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            return loss
        optimizer.step(closure)
""",
    ),
    Habit(
        "SGD with a closure",
        change_loop(
            loss="""
            def closure():
                optimizer.zero_grad()
                loss = F.mse_loss(model(x), y)
                loss.backward()
                return loss""",
            step="optimizer.step(closure)",
        ),
    ),
    Habit(
        "EMA per iteration",
        change_loop(
            make=SGD + "averaged = copy.deepcopy(model); kept['averaged'] = averaged",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            with torch.no_grad():
                for mean, p in zip(averaged.parameters(), model.parameters()): mean.lerp_(p, 0.1)""",
        ),
    ),
    Habit(
        "AveragedModel per iteration",
        change_loop(
            make=SGD + "averaged = torch.optim.swa_utils.AveragedModel(model); kept['averaged'] = averaged",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); averaged.update_parameters(model)",
        ),
    ),
    Habit(
        "own accumulation",
        change_loop(
            loader="loader = DataLoader(regression, batch_size=4)",
            make=SGD + "count = 0",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward(); count += 1
            if count % 3 == 0:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, by the round",
        _numbered_loop(
            loader="loader = DataLoader(regression, batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward()
            if (index + 1) % 3 == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 0.3)
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, to the end of each pass",
        _numbered_loop(
            loader="loader = DataLoader(TensorDataset(inputs[:21], targets[:21]), batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 4",
            step="""
            if index % 4 == 0: optimizer.zero_grad()
            loss.backward()
            if (index + 1) % 4 == 0 or index + 1 == len(loader): optimizer.step()""",
        ),
    ),
    Habit(
        "own accumulation of a cross entropy, scaled",
        _numbered_loop(
            make=SGD + "scaler = torch.amp.GradScaler('cuda', init_scale=64.0)",
            loader="loader = DataLoader(classes, batch_size=4, shuffle=True)",
            loss="loss = F.cross_entropy(model(x), y) / 3",
            step="""
            scaler.scale(loss).backward()
            if not (index + 1) % 3:
                scaler.unscale_(optimizer); nn.utils.clip_grad_norm_(model.parameters(), 0.3)
                scaler.step(optimizer); scaler.update(); optimizer.zero_grad(set_to_none=True)""",
        ),
    ),
    Habit(
        "own accumulation of a cross entropy, labels left out",
        _numbered_loop(
            make=SGD + "labels[9:16] = -100; classes = TensorDataset(inputs, labels)",
            loader="loader = DataLoader(classes, batch_size=4)",
            loss="loss = F.cross_entropy(model(x), y) / 3",
            step="""
            loss.backward()
            if index % 3 == 2:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation, a rate for each batch",
        _numbered_loop(
            make=SGD + "schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)",
            loader="loader = DataLoader(regression, batch_size=4)",
            loss="loss = F.mse_loss(model(x), y) / 3",
            step="""
            loss.backward(); schedule.step()
            if index % 3 == 2:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "own accumulation of a masked loss",
        _numbered_loop(
            make=LATE_MASK,
            loss=EACH + "            loss = each.sum() / mask.sum() / 3",
            step="""
            loss.backward()
            if (index + 1) % 3 == 0:
                optimizer.step(); optimizer.zero_grad()""",
        ),
    ),
    Habit(
        "a rate that falls at the end of a pass",
        _numbered_loop(
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            if index == len(loader) - 1: optimizer.param_groups[0]["lr"] *= 0.5"""
        ),
    ),
    Habit(
        "a schedule by the length of the loader",
        change_loop(
            make=SGD + "schedule = None",
            loss="""
            if schedule is None:
                schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=2 * len(loader))
            loss = F.mse_loss(model(x), y)""",
            step="optimizer.zero_grad(); loss.backward(); optimizer.step(); schedule.step()",
        ),
    ),
    Habit(
        "batch norm",
        change_loop(make="model.insert(1, nn.BatchNorm1d(16).to('cuda'))\n" + SGD),
    ),
    Habit("dropout", change_loop(make="model.insert(2, nn.Dropout(0.3))\n" + SGD)),
    Habit(
        "contrastive loss in the batch",
        change_loop(
            loss="""
            left, right = F.normalize(model(x), dim=1), F.normalize(model(x + 0.1), dim=1)
            loss = F.cross_entropy(left @ right.T / 0.5, torch.arange(len(x), device='cuda'))"""
        ),
    ),
    Habit(
        "torch.autograd.grad by hand",
        change_loop(
            make="optimizer = None",
            step="""
            with torch.no_grad():
                for p, g in zip(model.parameters(), torch.autograd.grad(loss, list(model.parameters()))):
                    p -= 0.1 * g""",
        ),
    ),
    Habit(
        "SGD by hand from p.grad",
        change_loop(
            make="optimizer = None",
            step="""
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None""",
        ),
    ),
    Habit(
        "gradient penalty",
        change_loop(
            loss="""
            x.requires_grad_()
            out = model(x)
            (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
            loss = F.mse_loss(out, y) + 0.1 * (slope.norm(dim=1) ** 2).mean()"""
        ),
    ),
    Habit(
        "gradients edited",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            for p in model.parameters(): p.grad = p.grad.sign() * p.grad.abs().sqrt()
            optimizer.step()"""
        ),
    ),
    Habit(
        "backward twice",
        change_loop(
            loss="loss = F.mse_loss(model(x), y); more = 0.1 * model(x + 0.1).pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "retain_graph",
        change_loop(
            loss="out = model(x); loss = F.mse_loss(out, y); more = 0.1 * out.pow(2).mean()",
            step="optimizer.zero_grad(); loss.backward(retain_graph=True); more.backward(); optimizer.step()",
        ),
    ),
    Habit(
        "several losses at once",
        change_loop(
            loss="out = model(x); loss = [F.mse_loss(out, y), 0.1 * out.pow(2).mean()]",
            step="optimizer.zero_grad(); torch.autograd.backward(loss); optimizer.step()",
        ),
    ),
    Habit(
        "weight decay in the loss",
        change_loop(loss="loss = F.mse_loss(model(x), y) + 0.01 * sum(p.pow(2).sum() for p in model.parameters())"),
    ),
    Habit(
        "gradients of inputs (FGSM)",
        change_loop(
            loss="""
            x.requires_grad_()
            F.mse_loss(model(x), y).backward()
            x = (x + 0.1 * x.grad).detach()
            loss = F.mse_loss(model(x), y)"""
        ),
    ),
    Habit(
        "optimizer in backward",
        """
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
def step(p):
    optimizers[p].step(); optimizers[p].zero_grad()
for p in model.parameters(): p.register_post_accumulate_grad_hook(step)
BEFORE
for epoch in range(2):
    for x, y in DataLoader(regression, batch_size=8):
        F.mse_loss(model(x.cuda()), y.cuda()).backward()
""",
    ),
    Habit(
        "weights decayed by hand before the step",
        change_loop(
            step="""
            optimizer.zero_grad(); loss.backward()
            with torch.no_grad():
                for p in model.parameters(): p.mul_(0.9)
            optimizer.step()"""
        ),
    ),
    Habit(
        "weights decayed through .data before the step",
        change_loop(
            make=ADAM,
            step="""
            optimizer.zero_grad(); loss.backward()
            for p in model.parameters(): p.data.mul_(0.9)
            optimizer.step()""",
        ),
    ),
    Habit(
        "reentrant checkpointing",
        change_loop(
            loss="""
            from torch.utils.checkpoint import checkpoint
            loss = F.mse_loss(model[3](checkpoint(model[2], model[:2](x), use_reentrant=True)), y)"""
        ),
    ),
    Habit(
        "evaluation in between",
        change_loop(
            make=SGD + "seen['types'] = []; seen['score'] = []",
            epoch_end="""
            model.eval()
            with torch.no_grad(): out = model(inputs.cuda())
            seen['types'].append(str(out.dtype)); seen['score'].append(float((out @ torch.eye(3, device='cuda')).sum()))
            model.train()""",
        ),
    ),
    Habit(
        "metrics after backward",
        change_loop(
            make=SGD + "seen['types'] = []",
            loss="out = model(x); loss = F.mse_loss(out, y)",
            step="""
            optimizer.zero_grad(); loss.backward(); optimizer.step()
            seen['types'].append(str((torch.eye(3, device='cuda') @ torch.eye(3, device='cuda')).dtype))""",
        ),
    ),
    Habit("attention", change_loop(make=ATTENDS.format(0.0), loss=ATTENDED)),
    Habit("attention, dropout of its scores", change_loop(make=ATTENDS.format(0.2), loss=ATTENDED)),
    Habit(
        "attention, its weights in the loss",
        change_loop(
            make=ATTENDS.format(0.0),
            loss="""
            tokens, weights = attention(*3 * [model(x)[:, None]])
            loss = F.mse_loss(tokens[:, 0], y) + 0.1 * weights.square().mean()""",
        ),
    ),
    Habit(
        "attention, gradient penalty",
        change_loop(
            make=ATTENDS.format(0.0),
            loss=ATTENDED
            + """
            loss = loss + torch.autograd.grad(loss, attention.in_proj_weight, create_graph=True)[0].square().sum()""",
        ),
    ),
    Habit(
        "scaled_dot_product_attention without heads",
        change_loop(
            loss="out = model(x)[None]; loss = F.mse_loss(F.scaled_dot_product_attention(out, out, out)[0], y)"
        ),
    ),
]
