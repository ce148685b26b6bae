"""Modules that run again in backward train the same, or are refused."""

from __future__ import annotations

import pytest
from hooked_job import Job
from small_training import assert_close, training

pytestmark = pytest.mark.by_release


def test_checkpointing_gives_the_same_weights_dropout_and_batch_statistics(job: Job) -> None:
    middle = "nn.Sequential(nn.Linear(12, 12), nn.BatchNorm1d(12), nn.Dropout(0.3)),"
    plain = job.run(training(middle)).output()
    finished = job.run(training(middle), {"id": "checkpoint", "modules": ["2"]})
    assert finished.output()["values"] == plain["values"]
    assert finished.only("plan_applied")["id"] == "checkpoint"
    assert finished.of_kind("precision")[-1]["checkpointing"] is True


# What a forward may change or draw from beside its outputs. Run again, each would give something else.
STATEFUL = {
    "a counter of its own": ("self.calls = 1.0", "self.calls *= 1.5; x = x * self.calls"),
    "a generator of its own": (
        "self.own = torch.Generator().manual_seed(5)", "x = x * torch.rand(x.shape, generator=self.own)"
    ),
    "a list that it keeps": ("self.seen = []", "self.seen.append(1.0); x = x * len(self.seen)"),
    "a counter of an object's": ("self.held = Held()", "self.held.calls += 1; x = x * self.held.calls"),
    "a global counter": ("pass", "CALLS['n'] += 1; x = x * CALLS['n']"),
    "numpy": ("import numpy; self.draw = numpy.random.rand", "x = x * float(self.draw())"),
    "random": ("import random; self.draw = random.random", "x = x * self.draw()"),
    "a counter of its class": ("pass", "type(self).calls += 1; x = x * self.calls"),
    "a small buffer": (
        "self.register_buffer('mean', torch.ones(12))", "x = x * self.mean.clone(); self.mean.mul_(0.5)"
    ),
    "a small buffer, through data": (
        "self.register_buffer('mean', torch.ones(12))", "x = x * self.mean.clone(); self.mean.data.mul_(0.5)"
    ),
    "a tensor that it replaces": ("self.last = torch.ones(1)", "x = x * self.last; self.last = x.detach().mean()"),
}  # fmt: skip
STATEFUL_BLOCK = """
    import torch
    CALLS = {{"n": 0}}
    class Held:
        calls = 0
        def __init__(self): self.calls = 0
    class Block(torch.nn.Module):
        calls = 0
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(12, 12)
            {made}
        def forward(self, x):
            {changed}
            return torch.tanh(self.inner(x))
    import random, numpy
    random.seed(1); numpy.random.seed(1)
"""


@pytest.mark.parametrize("name", STATEFUL)
def test_a_second_run_finds_what_the_first_changed_as_it_was(job: Job, name: str) -> None:
    made, changed = STATEFUL[name]
    script = STATEFUL_BLOCK.format(made=made, changed=changed) + training("Block(), nn.Tanh(),")
    plain = job.run(script).output()
    finished = job.run(script, {"id": "checkpoint", "modules": ["2"]})
    assert finished.only("plan_applied")["id"] == "checkpoint"
    assert finished.output()["values"] == plain["values"]


def test_a_forward_that_adds_to_a_long_list_is_not_run_again(job: Job) -> None:
    block = STATEFUL_BLOCK.format(made="self.seen = [0.0] * 5000", changed="self.seen.append(1.0)")
    finished = job.run(block + training("Block(), nn.Tanh(),"), {"id": "checkpoint", "modules": ["2"]})
    assert "writes to its own Block.seen" in finished.only("plan_refused")["text"]


@pytest.mark.parametrize("through", ["self.mean", "self.mean.data"])
@pytest.mark.parametrize(
    "made", ["self.register_buffer('mean', torch.zeros(2000, 12))", "self.mean = torch.zeros(1, 12)"]
)
def test_a_forward_that_writes_to_a_tensor_of_its_own_is_not_run_again(job: Job, made: str, through: str) -> None:
    block = STATEFUL_BLOCK.format(
        made=made,
        changed=f"{through}.mul_(0.9).add_(x.detach().mean(0), alpha=0.1); x = x - self.mean[0]",
    )
    finished = job.run(block + training("Block(), nn.Tanh(),"), {"id": "checkpoint", "modules": ["2"]})
    assert "writes to its own Block.mean" in finished.only("plan_refused")["text"]


SELECTIVE = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.attend, self.mix, self.drop = nn.MultiheadAttention(4, 2), nn.Linear(4, 4), nn.Dropout(0.3)
        def forward(self, x):
            x = nn.functional.gelu(self.norm(self.conv(x)))
            rows = x.flatten(2).permute(2, 0, 1)
            rows = rows + self.drop(self.attend(rows, rows, rows)[0])
            return x + self.drop(torch.tanh(self.mix(rows) * 2)).permute(1, 2, 0).reshape(x.shape)
    model = nn.Sequential(Block(), Block(), Block(), nn.Flatten(), nn.Linear(256, 3)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    held = 0
    for step in range(3):
        before = torch.cuda.memory_allocated()
        loss = model(torch.randn(16, 4, 8, 8, device="cuda")).square().mean()
        held = torch.cuda.memory_allocated() - before  # of the last step: libraries have their workspaces by then
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    values = {name: value.tolist() for name, value in model.state_dict().items()}
    print(json.dumps({"values": values, "held": held}))
"""


@pytest.mark.by_release
def test_blocks_that_keep_their_products_train_the_same_and_hold_less(job: Job) -> None:
    card = {"card": 4 << 30, "VRAMFIT_VALUES": "cpu"}
    plain = job.run(SELECTIVE, **card).output()
    names = ["0", "1", "2"]
    kept = job.run(SELECTIVE, {"id": "checkpoint", "modules": names, "keep": "products"}, **card)
    whole = job.run(SELECTIVE, {"id": "checkpoint", "modules": names}, **card).output()
    assert "but for their products" in kept.only("plan_applied")["text"]
    assert kept.output()["values"] == plain["values"]
    assert whole["held"] < kept.output()["held"] < 0.8 * plain["held"]


def test_a_product_that_is_changed_in_place_is_never_worked_on_silently(job: Job) -> None:
    middle = "nn.Sequential(nn.Linear(12, 12), nn.ReLU(inplace=True)),"
    finished = job.run(training(middle), {"id": "checkpoint", "modules": ["2"], "keep": "products"})
    assert finished.exit_code != 0
    assert "mutated" in finished.stderr


def test_checkpointed_modules_within_checkpointed_modules_train_the_same(job: Job) -> None:
    middle = "nn.Sequential(nn.Linear(12, 12), nn.BatchNorm1d(12), nn.Sequential(nn.Linear(12, 12), nn.Dropout(0.3))),"
    plain = job.run(training(middle)).output()
    finished = job.run(training(middle), {"id": "checkpoint", "modules": ["2", "2.0", "2.2"]})
    assert finished.output()["values"] == plain["values"]
    assert finished.only("plan_applied")["id"] == "checkpoint"


def test_a_nested_module_that_is_given_one_tensor_thrice_is_so_again(job: Job) -> None:
    attends = """class Attends(nn.TransformerEncoderLayer):
        def forward(self, x):
            return super().forward(x[:, None])[:, 0]
    layers = """
    script = training("Attends(12, 2, 8, dropout=0.2),").replace("layers = ", attends)
    plain = job.run(script).output()
    finished = job.run(script, {"id": "checkpoint", "modules": ["2", "2.self_attn"]})
    assert_close(finished.output()["values"], plain["values"])


# A module that is given a list which grows after its forward, by name only.
GROWING = """class Joins(nn.Sequential):
        def __init__(self, many, few):
            super().__init__(nn.Linear(many, few), nn.Tanh(), nn.Dropout(0.3))
        def forward(self, seen):
            return super().forward(torch.cat(seen, 1))
    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([Joins(12, 12), Joins(24, 12)])
        def forward(self, x):
            seen = [x]
            for part in self.parts:
                seen.append(part(seen=seen))
            return seen[-1]
    layers = """


def test_a_list_that_grows_after_a_checkpointed_forward_is_seen_as_it_was(job: Job) -> None:
    script = training("Grows(),").replace("layers = ", GROWING)
    plain = job.run(script).output()
    finished = job.run(script, {"id": "checkpoint", "modules": ["2.parts.0", "2.parts.1"]})
    assert finished.output()["values"] == plain["values"]


def test_what_is_changed_in_place_after_a_checkpointed_forward_is_never_run_again_silently(job: Job) -> None:
    changing = """class Changes(nn.Linear):
        def forward(self, x):
            y = super().forward(x * 1)
            x.mul_(2)
            return y
    layers = """
    script = training("nn.Linear(12, 12), Changes(12, 12),").replace("layers = ", changing)
    finished = job.run(script, {"id": "checkpoint", "modules": ["3"]})
    assert finished.exit_code != 0
    assert "modified by an inplace operation" in finished.stderr


def test_a_module_that_is_not_there_is_a_refusal(job: Job) -> None:
    finished = job.run(training(), {"id": "checkpoint", "modules": ["0", "backbone"]})
    assert "no module backbone" in finished.only("plan_refused")["text"]


TWO_NETWORKS = """
    import torch
    from torch import nn
    class Counted(nn.Linear):
        def forward(self, x):
            print("ran", self.name if hasattr(self, "name") else "")  # what nothing takes back
            return super().forward(x)
    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.main = nn.Sequential(Counted(4, 4), nn.ReLU(), nn.Linear(4, 1))
        def forward(self, x): return self.main(x)
    class Maker(Critic): pass
    critic, maker = Critic(), Maker()
    optimizer = torch.optim.SGD(critic.parameters(), 0.1)
    for step in range(3):
        critic(torch.ones(2, 4)).sum().backward()
        optimizer.step()
"""


COPIES = """
    import copy, io, json, torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(3, 4).cuda()
    model(x).sum().backward()
    twin = copy.deepcopy(model)
    optimizer.step()
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    with torch.no_grad():
        outs = [m.to("cuda")(x).tolist() for m in (model, twin, loaded)]
    own = [name for m in (model, twin, loaded) for part in m.modules() for name in vars(part) if name == "forward"]
    print(json.dumps({"outs": outs, "own": own}))
"""


@pytest.mark.parametrize("technique", ["checkpoint", "offload_activations"])
def test_a_model_under_a_plan_is_saved_and_copied_as_it_is(job: Job, technique: str) -> None:
    """examples/word_language_model saves the whole model; a copy that keeps the best weights is its own network."""
    card = {"card": 4 << 30, "VRAMFIT_VALUES": "cpu"}
    plain = job.run(COPIES, **card).output()
    least = {"at_least": 0} if technique == "offload_activations" else {}
    planned = job.run(COPIES, {"id": technique, "modules": ["1"], **least}, **card)
    assert planned.only("plan_applied")["id"] == technique
    assert planned.output() == plain
    assert plain["outs"][0] == plain["outs"][2] != plain["outs"][1]
    assert plain["own"] == []


def test_blocks_of_two_networks_are_checkpointed_each_where_it_is(job: Job) -> None:
    plan = {"id": "checkpoint", "modules": ["main.0", "Maker/main.0"]}
    both = TWO_NETWORKS + "        maker(torch.ones(2, 4)).sum().backward()\n"
    begin = "    critic.main[0].name, maker.main[0].name = 'critic', 'maker'\n"
    finished = job.run(both.replace("    for step", begin + "    for step", 1), plan)
    counts = [finished.stdout.count(f"ran {name}") for name in ("critic", "maker")]
    assert counts == [6, 6], "again in backward, in each of three steps"
    assert not finished.of_kind("plan_refused")
    assert "2 modules" in finished.only("plan_applied")["text"]
    finished = job.run(both, {"id": "checkpoint", "modules": ["Maker/main.0"]})  # called after the first step
    assert finished.only("plan_applied") and not finished.of_kind("plan_refused")
    finished = job.run(TWO_NETWORKS, plan)
    assert "Maker/main.0" in finished.only("plan_refused")["text"]
