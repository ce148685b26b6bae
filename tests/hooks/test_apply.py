"""Techniques applied to scripts that know nothing of them; where results are claimed equal, they are compared."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Job

# Trains a small model on fixed data and prints its parameters, buffers and the shapes it saw.
TRAINING = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    data = TensorDataset(torch.randn(16, 6), torch.randn(16, 3))
    layers = [nn.Linear(6, 12), nn.Tanh(), {middle} nn.Linear(12, 3)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.{optimizer}
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    shapes = []
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8):
            shapes.append(list(x.shape))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
    values = {{name: value.tolist() for name, value in model.state_dict().items()}}
    print(json.dumps({{"values": values, "shapes": shapes, "lr": scheduler.get_last_lr()[0],
                       "optimizer": type(optimizer).__name__}}))
"""
SGD = "SGD(model.parameters(), lr=0.1, momentum=0.9)"


def training(middle: str = "", optimizer: str = SGD) -> str:
    return TRAINING.format(middle=middle, optimizer=optimizer)


def assert_close(left: dict, right: dict) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert (
            left[name] == pytest.approx(right[name], rel=1e-4, abs=1e-6)
            if not isinstance(left[name][0], list)
            else [row == pytest.approx(other, rel=1e-4, abs=1e-6) for row, other in zip(left[name], right[name])].count(
                False
            )
            == 0
        ), name


def test_accumulated_micro_batches_train_as_the_whole_batch(job: Job) -> None:
    plain = job.run(training()).output()
    finished = job.run(training(), {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]})
    small = finished.output()
    assert plain["shapes"] == [[8, 6]] * 4
    assert small["shapes"] == [[2, 6]] * 16
    assert small["lr"] == plain["lr"]
    assert_close(small["values"], plain["values"])
    assert finished.only("plan_applied")["id"] == "micro_batch"


@pytest.mark.parametrize("size", [4, 5, 8, 16])
def test_batches_of_another_size_train_as_if_the_script_asked_for_them(job: Job, size: int) -> None:
    asked = job.run(training().replace("batch_size=8", f"batch_size={size}")).output()
    finished = job.run(training(), {"id": "batch_size", "batch_size": size, "loaders": [0]})
    given = finished.output()
    assert given["shapes"] == asked["shapes"]
    assert given["values"] == asked["values"]
    assert given["lr"] == asked["lr"]
    assert finished.only("plan_applied")["text"] == f"batches of {size} instead of 8"


def test_what_a_loader_drops_at_its_end_is_dropped_from_larger_batches(job: Job) -> None:
    script = training().replace("batch_size=8)", "batch_size=3, drop_last=True)")
    finished = job.run(script, {"id": "batch_size", "batch_size": 7})
    assert finished.output()["shapes"] == [[7, 6]] * 4


def test_a_batch_larger_than_the_data_is_refused(job: Job) -> None:
    finished = job.run(training(), {"id": "batch_size", "batch_size": 17})
    assert "has 16 samples, fewer than a batch" in finished.only("plan_refused")["text"]


def test_accumulation_leaves_a_script_with_a_scaler_as_it_was(job: Job) -> None:
    # On the CPU the scaler is a real one with a real scale.
    scaled = training().replace("loss.backward()", "scaler.scale(loss).backward(); scaler.unscale_(optimizer)")
    scaled = scaled.replace("            optimizer.step()", "            scaler.step(optimizer); scaler.update()")
    scaled = scaled.replace("    shapes = []", "    shapes = []; scaler = torch.amp.GradScaler('cpu', init_scale=64.0)")
    plain = job.run(scaled).output()
    small = job.run(scaled, {"id": "micro_batch", "micro_batch": 4, "accumulate": 2, "loaders": [0]}).output()
    assert_close(small["values"], plain["values"])


def test_checkpointing_gives_the_same_weights_dropout_and_batch_statistics(job: Job) -> None:
    middle = "nn.Sequential(nn.Linear(12, 12), nn.BatchNorm1d(12), nn.Dropout(0.3)),"
    plain = job.run(training(middle)).output()
    finished = job.run(training(middle), {"id": "checkpoint", "modules": ["2"]})
    assert finished.output()["values"] == plain["values"]
    assert finished.only("plan_applied")["id"] == "checkpoint"
    assert finished.of_kind("precision")[-1]["checkpointing"] is True


# Beside its outputs, what a forward may change or draw from. Run again, each would give something else.
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


@pytest.mark.parametrize("made", ["self.register_buffer('mean', torch.zeros(12))", "self.mean = torch.zeros(12)"])
def test_a_forward_that_writes_to_a_tensor_of_its_own_is_not_run_again(job: Job, made: str) -> None:
    block = STATEFUL_BLOCK.format(
        made=made,
        changed="self.mean.mul_(0.9).add_(x.detach().mean(0), alpha=0.1); x = x - self.mean",
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


# Trains a network that saves in many ways: in place, strided views, masks, indices, one tensor for several operators.
SAVES = """
    import json, torch
    from torch import nn
    {imports}
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm = nn.Linear(64, 256), nn.BatchNorm1d(256)
            self.block = nn.TransformerEncoderLayer(256, 4, 256, dropout=0.1, batch_first=True)
            self.pool, self.head = nn.MaxPool1d(2), nn.Linear(256, 3)
        def forward(self, x):
            x = self.block(self.embed(x).relu_())
            x = self.pool(self.norm(x.transpose(1, 2))).transpose(1, 2)
            {inside}
            return self.head(x * x)
    model = Net().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, held = torch.randn(8, 256, 64, device="cuda"), []
    {before}
    for step in range(2):
        {around}
        loss = out.square().mean()
        held.append(torch.cuda.memory_allocated())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    values = {{name: value.tolist() for name, value in model.state_dict().items()}}
    print(json.dumps({{"values": values, "held": held}}))
"""
OFFLOAD = {"id": "offload_activations"}


def saves(
    around: str = "out = model(x)", before: str = "pass", inside: str = "pass", imports: str = "import copy"
) -> str:
    return SAVES.format(around=around, before=before, inside=inside, imports=imports)


@pytest.mark.parametrize(
    "plan",
    [
        (OFFLOAD,),
        ({**OFFLOAD, "modules": ["block"]},),
        ({**OFFLOAD, "at_least": 0},),
        (OFFLOAD, {"id": "checkpoint", "modules": ["block"]}),
    ],
)
def test_what_waits_on_the_host_trains_to_the_same_bits(job: Job, plan: tuple) -> None:
    plain = job.run(saves(), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    finished = job.run(saves(), *plan, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert finished.output()["values"] == plain["values"]
    assert finished.output()["held"][1] < 0.7 * plain["held"][1]
    assert OFFLOAD["id"] in [note["id"] for note in finished.of_kind("plan_applied")]
    assert not finished.of_kind("plan_refused")


def test_what_a_gradient_penalty_differentiates_twice_comes_back_twice(job: Job) -> None:
    inside = "slope, = torch.autograd.grad(x.square().sum(), x, create_graph=True); x = x + slope.square()"
    plain = job.run(saves(inside=inside), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    finished = job.run(saves(inside=inside), OFFLOAD, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert finished.output()["values"] == plain["values"]


def test_masks_and_indices_on_their_way_to_the_host_decide_nothing(job: Job) -> None:
    for values in ("zeros", "tracked"):
        finished = job.run(saves(), OFFLOAD, card=4 << 30, VRAMFIT_VALUES=values)
        assert finished.only("plan_applied") and not finished.of_kind("data_read")


def test_a_write_to_what_was_saved_is_found_where_it_stayed_on_the_card(job: Job) -> None:
    inside = "y = x[:1, :1, :1].sigmoid(); y.add_(1); x = x + y.sum()"
    for plan in ((), (OFFLOAD,)):
        finished = job.run(saves(inside=inside), *plan, card=4 << 30)
        assert "has been modified by an inplace operation" in finished.stderr


OFFLOAD_REFUSED = {
    "the model is compiled": {"before": "model.compile(backend='eager')"},
    "hooks on saved tensors around": {"around": "with torch.autograd.graph.save_on_cpu(): out = model(x)"},
    "hooks on saved tensors around the model's": {
        "imports": "from torch.utils.checkpoint import checkpoint",
        "around": "out = checkpoint(model, x, use_reentrant=False)",
    },
    "uses torch.func": {"inside": "x = x + torch.func.grad(lambda y: y.square().sum())(x)"},
    "nothing that the model saves": {"before": "x = torch.randn(1, 2, 64, device='cuda')"},
}


@pytest.mark.parametrize("reason", OFFLOAD_REFUSED)
def test_where_saved_tensors_are_not_the_plans_to_move_it_is_refused(job: Job, reason: str) -> None:
    finished = job.run(saves(**OFFLOAD_REFUSED[reason]), OFFLOAD, card=4 << 30)
    assert finished.exit_code == 3
    assert reason in finished.of_kind("plan_refused")[0]["text"]


def test_a_module_to_offload_that_is_not_there_is_refused(job: Job) -> None:
    finished = job.run(saves(), {**OFFLOAD, "modules": ["backbone"]}, card=4 << 30)
    assert "no model of the script has a module backbone" in finished.only("plan_refused")["text"]


MISNAMED = {
    "no model of the script has a module 00; did you mean 0?": {"id": "checkpoint", "modules": ["00"]},
    "no optimizer of torch.optim takes weigth_decay; did you mean weight_decay": {
        "id": "optimizer",
        "options": {"weigth_decay": 0.1},
    },
    "torch.optim.SGD does not take momentums; did you mean momentum": {
        "id": "optimizer",
        "name": "SGD",
        "options": {"momentums": 0.5},
    },
    "this PyTorch has no torch.optim.AdamV; did you mean Adam": {"id": "optimizer", "name": "AdamV"},
    "the script trains on data loader 0, and the plan names 5": {
        "id": "micro_batch",
        "micro_batch": 2,
        "accumulate": 4,
        "loaders": [5],
    },
}


@pytest.mark.parametrize("reason", MISNAMED)
def test_what_is_not_there_is_refused_before_the_first_step_with_what_is(job: Job, reason: str) -> None:
    finished = job.run(training().replace("optimizer.step()", "optimizer.step(); print('stepped')"), MISNAMED[reason])
    assert finished.exit_code == 3
    assert reason in finished.only("plan_refused")["text"]
    assert "stepped" not in finished.stdout


def test_a_loader_that_never_came_is_named_with_those_that_did(job: Job) -> None:
    finished = job.run(training(), {"id": "batch_size", "batch_size": 4, "loaders": [3]})
    assert finished.only("plan_refused")["text"] == "the script has no data loader 3: it came to data loader 0"


def test_another_optimizer_takes_over_the_learning_rate(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125)"
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "SGD", "options": {"momentum": 0.5}})
    assert finished.output()["optimizer"] == "SGD"
    note = finished.only("optimizer")
    assert (note["class_name"], note["options"]["momentum"]) == ("SGD", 0.5)
    assert finished.output()["lr"] == pytest.approx(0.125 / 4)


def test_an_optimizer_takes_over_no_argument_that_means_something_else_to_it(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125, eps=1e-6)"
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "Adafactor"})
    assert finished.output()["optimizer"] == "Adafactor"
    assert finished.only("optimizer")["options"]["eps"] == [None, 0.001]


def test_an_8_bit_optimizer_takes_over_what_the_script_gave_its_own(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125, betas=(0.8, 0.9))"
    eight_bit = {"id": "optimizer", "name": "bitsandbytes.optim.AdamW8bit"}
    finished = job.run(training(optimizer=adam), eight_bit)
    if importlib.util.find_spec("bitsandbytes") is None:
        assert finished.exit_code == 3
        assert "Traceback" not in finished.stderr
        assert "no bitsandbytes.optim.AdamW8bit" in finished.only("plan_refused")["text"]
        return
    assert finished.output()["optimizer"] == "AdamW8bit"
    assert finished.output()["lr"] == pytest.approx(0.125 / 4)
    assert finished.only("optimizer")["options"]["betas"] == [0.8, 0.9]


def test_options_of_the_same_optimizer_do_not_change_results(job: Job) -> None:
    adam = "AdamW(model.parameters(), lr=0.01)"
    plain = job.run(training(optimizer=adam)).output()
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "AdamW", "options": {"foreach": False}})
    assert finished.output()["values"] == plain["values"]
    assert finished.only("optimizer")["options"]["foreach"] is False


# Trains two networks that share an optimizer, and prints how many gradients there are after each backward pass.
RELEASED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
    optimizer = torch.optim.{optimizer}
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    kept = []
    def count(): return sum(getattr(torch.Tensor, "grad").__get__(p) is not None for p in model.parameters())
    for step in range(4):
        loss = model(torch.randn(2, 4)).square().sum()
        optimizer.zero_grad()
        loss.backward()
        kept.append(count())
        {between}
        optimizer.step()
        {after}
    print(json.dumps({{"values": [p.tolist() for p in model.parameters()], "kept": kept}}))
"""
RELEASE = {"id": "release_gradients"}
ADAMW = "AdamW(model.parameters(), lr=0.01)"


def released(optimizer: str = ADAMW, between: str = "pass", after: str = "schedule.step()") -> str:
    return RELEASED.format(optimizer=optimizer, between=between, after=after)


@pytest.mark.parametrize(
    "optimizer",
    [
        ADAMW,
        "SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)",
        "Adam([{'params': model[0].parameters()}, {'params': model[2].parameters(), 'lr': 0.1}], amsgrad=True)",
        "RMSprop(model.parameters(), foreach=True)",
        "NAdam(model.parameters())",
        "Adafactor(model.parameters())",
        "ASGD(model.parameters())",
    ],
)
def test_released_gradients_train_to_the_same_bits(job: Job, optimizer: str) -> None:
    plain = job.run(released(optimizer)).output()
    finished = job.run(released(optimizer), RELEASE)
    assert plain["kept"] == [4] * 4
    assert finished.output() == {"values": plain["values"], "kept": [0] * 4}
    assert finished.only("plan_applied")["id"] == "release_gradients"
    assert not finished.of_kind("plan_refused") and not finished.of_kind("hook_failed")


RELEASE_REFUSED = {
    "gradients are looked at": "nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
    "clipped, logged or changed (train.py:15 in": "kept.append(float(model[0].weight.grad.norm()))",
    "clipped, logged or changed": "model[0].weight.grad = torch.zeros(8, 4)",
    "another option, changes": "optimizer.param_groups[0]['lr'] = 0.5",
    "is called between": "model(torch.ones(2, 4))",
    "are zeroed between": "optimizer.zero_grad()",
    "second backward pass": "sum(p.sum() for p in model.parameters()).backward()",
    "given a closure": "optimizer.step(lambda: 0.0)",
    "weights are changed": "with torch.no_grad(): model[0].weight.clamp_(-0.1, 0.1)",
    "hooks of its own": "model[0].weight.register_post_accumulate_grad_hook(print)",
}


@pytest.mark.parametrize("reason", RELEASE_REFUSED)
def test_what_needs_all_gradients_at_once_is_refused(job: Job, reason: str) -> None:
    finished = job.run(released(between=RELEASE_REFUSED[reason]), RELEASE)
    assert finished.exit_code == 3
    assert reason in finished.only("plan_refused")["text"]


def test_a_gradient_that_is_looked_at_later_ends_the_job_there(job: Job) -> None:
    finished = job.run(released(between="step == 2 and model[0].weight.grad.norm(); print('reached', step)"), RELEASE)
    assert finished.exit_code == 3
    assert finished.stdout.count("reached") == 2
    assert "looked at" in finished.only("plan_refused")["text"]


def test_optimizers_whose_parameters_can_not_be_released_are_refused(job: Job) -> None:
    for optimizer, reason in (
        ("LBFGS(model.parameters())", "LBFGS is no optimizer"),
        ("SGD([torch.zeros(2, requires_grad=True)], 0.1)", "no parameters"),
        ("SGD(model.parameters(), 0.1); other = torch.optim.SGD(model[0].parameters(), 0.1)", "share a parameter"),
    ):
        assert reason in job.run(released(optimizer), RELEASE).only("plan_refused")["text"]
    by_hand = released(after="[setattr(p, 'grad', None) for p in model.parameters()]")
    assert job.run(by_hand, RELEASE).output() == {**job.run(by_hand).output(), "kept": [0] * 4}


def test_techniques_that_need_all_gradients_go_without_released_ones(job: Job) -> None:
    for rival in (
        {"id": "micro_batch", "micro_batch": 2, "accumulate": 4},
        {"id": "autocast", "dtype": "float16"},
    ):
        finished = job.run(training(), RELEASE, rival)
        assert finished.of_kind("plan_refused")[0]["id"] == "release_gradients"


# Trains two branches, the second of which sees no gradient in every other step, and looks where gradients are.
ZEROED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.1)
    kept = []
    for step in range(6):
        loss = first(torch.ones(2, 4)).square().sum()
        if step % 2 == 0: loss = loss + second(torch.ones(2, 4)).square().sum()
        {before}
        loss.backward()
        if step != 3: optimizer.step()
        {after}
        kept.append(sum(p.grad is not None for p in parameters))
    print(json.dumps({{"values": [p.tolist() for p in parameters], "kept": kept}}))
"""
SET_TO_NONE = {"id": "zero_grad_set_to_none"}


@pytest.mark.parametrize(
    "call",
    [
        "optimizer.zero_grad(set_to_none=False)",
        "optimizer.zero_grad(False)",
        "first.zero_grad(False); second.zero_grad(False)",
    ],
)
def test_gradients_are_given_back_and_train_the_same(job: Job, call: str) -> None:
    plain = job.run(ZEROED.format(before="pass", after=call)).output()
    finished = job.run(ZEROED.format(before="pass", after=call), SET_TO_NONE)
    assert plain["kept"] == [4] * 6
    assert finished.output() == {"values": plain["values"], "kept": [0] * 6}
    assert finished.only("plan_applied")["id"] == "zero_grad_set_to_none"
    assert not finished.of_kind("plan_refused")
    assert not finished.of_kind("gradients_kept")


def test_a_step_without_a_backward_pass_still_decays_what_was_zeroed(job: Job) -> None:
    twice = "optimizer.zero_grad(False); optimizer.step()"
    plain = job.run(ZEROED.format(before="pass", after=twice)).output()
    assert job.run(ZEROED.format(before="pass", after=twice), SET_TO_NONE).output() == plain


def test_gradients_of_a_step_within_the_backward_pass_are_not_made_again(job: Job) -> None:
    script = """
        import json, torch
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Linear(4, 4))
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}
        def step(p): optimizers[p].step(); optimizers[p].zero_grad(set_to_none=False)
        for p in optimizers: p.register_post_accumulate_grad_hook(step)
        for _ in range(3): model(torch.ones(2, 4)).sum().backward()
        print(json.dumps([p.grad is None for p in optimizers]))
    """
    assert job.run(script, SET_TO_NONE).output() == [True] * 4


def test_where_gradients_are_none_already_the_plan_is_refused(job: Job) -> None:
    finished = job.run(ZEROED.format(before="optimizer.zero_grad()", after="pass"), SET_TO_NONE)
    assert finished.exit_code == 3
    assert "to None already" in finished.only("plan_refused")["text"]
    by_hand = "[p.grad.zero_() for p in parameters if p.grad is not None]"
    finished = job.run(ZEROED.format(before=by_hand, after="pass"), SET_TO_NONE)
    assert finished.only("plan_refused")["id"] == "zero_grad_set_to_none"


def test_gradients_of_a_captured_step_stay_where_they_are(job: Job) -> None:
    script = """
        import torch
        model = torch.nn.Linear(4, 4).cuda()
        model(torch.ones(2, 4).cuda()).sum().backward()
        model.zero_grad(set_to_none=False)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(torch.ones(2, 4, device="cuda")).sum().backward()
    """
    finished = job.run(script, SET_TO_NONE, card=1 << 30)
    assert "captures a CUDA graph" in finished.only("plan_refused")["text"]


def test_where_a_script_keeps_its_gradients_is_noted_once(job: Job) -> None:
    zeroing = "optimizer.zero_grad(set_to_none=False)"
    note = job.run(ZEROED.format(before=zeroing, after="pass")).only("gradients_kept")
    assert note["after_forward"] is True
    assert note["line"].startswith("train.py:12 in <module>")
    assert job.run(ZEROED.format(before="pass", after=zeroing)).only("gradients_kept")["after_forward"] is False
    assert not job.run(ZEROED.format(before="pass", after="optimizer.zero_grad()")).of_kind("gradients_kept")


IMAGES = """
    import json, torch
    from torch.utils.data import DataLoader, Dataset

    class Images(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            return {item}

    for batch in DataLoader(Images(), batch_size=2):
        print(json.dumps([[list(t.shape), str(t.dtype), t.unique().numel()] for t in batch]))
        break
"""


def test_images_and_label_maps_are_scaled_together(job: Job) -> None:
    item = "torch.rand(3, 64, 128), torch.randint(0, 5, (64, 128)), 7"
    finished = job.run(IMAGES.format(item=item), {"id": "resize_input", "scale": 0.5})
    image, labels, number = finished.output()
    assert image[:2] == [[2, 3, 32, 64], "torch.float32"]
    assert labels[:2] == [[2, 32, 64], "torch.int64"]
    assert labels[2] <= 5  # nearest: no label that was not there
    assert number[0] == [2]


def test_token_sequences_are_cut(job: Job) -> None:
    finished = job.run(
        IMAGES.format(item="torch.zeros(100, dtype=torch.long), torch.ones(5)"), {"id": "resize_input", "scale": 0.75}
    )
    tokens, other = finished.output()
    assert (tokens[0], other[0]) == ([2, 75], [2, 5])


def test_evaluation_without_no_grad_is_run_without_a_graph(job: Job) -> None:
    script = """
        import json, torch
        from torch import nn
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def step(): loss = model(torch.ones(2, 4)).sum(); loss.backward(); optimizer.step()
        def validate():
            model.eval(); out = model(torch.ones(2, 4)); model.train(); return out.requires_grad
        step(); seen = validate(); step()
        print(json.dumps([seen, torch.is_grad_enabled()]))
    """
    assert job.run(script).output() == [True, True]
    finished = job.run(script, {"id": "no_grad_validation"})
    assert finished.output() == [False, True]
    assert finished.only("plan_applied")["id"] == "no_grad_validation"


def test_allocator_settings_are_merged_with_the_users(job: Job) -> None:
    script = "import os, json, torch; print(json.dumps(os.environ['PYTORCH_CUDA_ALLOC_CONF']))"
    finished = job.run(
        script,
        {"id": "allocator", "conf": "expandable_segments:True"},
        PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64,expandable_segments:False",
    )
    assert finished.output() == "max_split_size_mb:64,expandable_segments:True"


def test_loader_options_take_effect(job: Job) -> None:
    script = """
        import json, torch
        from torch.utils.data import DataLoader, get_worker_info
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return int(get_worker_info() is not None)
        loader = DataLoader(Data(), batch_size=4, num_workers=2, persistent_workers=True)
        print(json.dumps([batch.tolist() for batch in loader]))
    """
    finished = job.run(script, {"id": "loader_options", "num_workers": 0, "pin_memory": False})
    assert finished.output() == [[0, 0, 0, 0]]


def test_a_technique_that_never_found_its_place_is_a_refusal(job: Job) -> None:
    script = "import torch; m = torch.nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward()"
    finished = job.run(script, {"id": "micro_batch", "micro_batch": 2, "accumulate": 2, "loaders": [0]})
    assert finished.only("plan_refused")["id"] == "micro_batch"


def test_an_unknown_technique_and_an_unreadable_plan_are_refusals(job: Job) -> None:
    assert job.run("import torch", {"id": "magic"}).only("plan_refused")["id"] == "magic"
    finished = job.run("import torch", VRAMFIT_PLAN="/nonexistent/plan.json")
    assert finished.only("plan_refused")["id"] == "plan"


def test_what_an_error_in_training_kept_from_its_place_is_not_refused(job: Job) -> None:
    text = """
        import sys, torch
        from torch import nn
        from torch.utils.data import DataLoader
        model = nn.Linear(4, 2)
        for x in DataLoader(torch.randn(32, 4), batch_size=8, shuffle=True):
            model(x).sum().backward()
            {end}
        model.eval()
        with torch.no_grad():
            for x in DataLoader(torch.randn(32, 4), batch_size=16): model(x)
    """
    plan = ({"id": "micro_batch", "micro_batch": 4, "loaders": [1]}, {"id": "gather_on_cpu"})
    cut_off = job.run(text.format(end="raise RuntimeError('CUDA out of memory.')"), *plan)
    assert cut_off.of_kind("plan_refused") == []
    whole = job.run(text.format(end="pass"), *plan)
    assert [note["id"] for note in whole.of_kind("plan_applied")] == ["micro_batch"]
    assert [note["id"] for note in whole.of_kind("plan_refused")] == ["gather_on_cpu"]


def test_a_library_that_draws_ahead_of_the_training_is_refused(job: Job) -> None:
    """As timm's PrefetchLoader does, from site-packages; one that hands on what it drew, as tqdm does, is not."""
    text = """
        import sys, types, torch
        from torch import nn
        from torch.utils.data import DataLoader
        library = types.ModuleType("library")
        code = compile({generator!r}, "/usr/lib/python3/site-packages/library.py", "exec")
        exec(code, library.__dict__)
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in library.draw(DataLoader(torch.randn(16, 4), batch_size=8)):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    """
    plan = {"id": "micro_batch", "micro_batch": 4, "accumulate": 2, "loaders": [0]}
    ahead = (
        "def draw(loader):\n last = None\n for x in loader:\n  if last is not None: yield last\n  last = x\n yield last"
    )
    finished = job.run(text.format(generator=ahead), plan)
    assert "drawn ahead of the training" in finished.only("plan_refused")["text"]
    handed_on = "def draw(loader):\n for x in loader: yield x"
    assert job.run(text.format(generator=handed_on), plan).of_kind("plan_refused") == []


def test_what_ran_out_in_its_first_forward_does_not_refuse_what_acts_in_backward(job: Job) -> None:
    text = """
        import torch
        from torch import nn
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            loss = model(torch.ones(1, 4)).sum()
            raise RuntimeError('CUDA out of memory.')
    """
    assert job.run(text, {"id": "release_gradients"}).of_kind("plan_refused") == []


WIDE = """
    import json, torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(8, 40000).cuda()
    x = torch.randn(64, 8).cuda()
    {before}
    logits = model(x){after}
    labels = torch.randint(0, logits.shape[1], logits.shape[:1] + logits.shape[2:]).cuda()
    labels[:3] = -100
    torch.cuda.reset_peak_memory_stats()
    with torch.autocast("cuda", torch.bfloat16, enabled={autocast}):
        loss = {loss}
    {backward}
    print(json.dumps({{"loss": loss.tolist(), "gradient": model.weight.grad.flatten()[::97].tolist(),
                       "peak": torch.cuda.max_memory_allocated()}}))
"""
CHUNKED = {"id": "chunked_loss", "chunk_bytes": 1 << 20}
LOSSES = {
    "mean": "nn.CrossEntropyLoss()(logits, labels)",
    "sum": "nn.functional.cross_entropy(logits, labels, reduction='sum')",
    "each": "(nn.functional.cross_entropy(logits, labels, reduction='none') * torch.arange(64).cuda()).sum()",
    "weighted": "nn.functional.cross_entropy(logits, labels, torch.rand(40000).cuda(), label_smoothing=0.1)",
}


def wide(loss: str, before: str = "pass", after: str = "", autocast: bool = False, backward: str = "") -> str:
    backward = backward or "loss.backward()"
    return WIDE.format(loss=loss, before=before, after=after, autocast=autocast, backward=backward)


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_in_chunks_has_the_same_gradients_and_needs_less(job: Job, loss: str, autocast: bool) -> None:
    script = wide(LOSSES[loss], autocast=autocast)
    plain = job.run(script, card=4 << 30, VRAMFIT_VALUES="cpu").output()
    chunked = job.run(script, CHUNKED, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert "cross entropy over 40000 classes in 11 chunks" in chunked.only("plan_applied")["text"]
    found = chunked.output()
    assert found["loss"] == pytest.approx(plain["loss"], rel=1e-5)
    assert found["gradient"] == pytest.approx(plain["gradient"], rel=1e-5, abs=1e-9)
    assert any(found["gradient"])
    assert found["peak"] < plain["peak"] - 0.9 * 64 * 40000 * 4


def test_a_loss_over_pixels_is_worked_out_image_by_image(job: Job) -> None:
    after = ".view(64, 40, 10, 100)"
    plain = job.run(wide(LOSSES["mean"], after=after), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    chunked = job.run(wide(LOSSES["mean"], after=after), CHUNKED, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert chunked.only("plan_applied")
    assert chunked.output()["gradient"] == pytest.approx(plain["gradient"], rel=1e-5, abs=1e-9)


def test_a_gradient_of_the_gradient_goes_through_a_loss_in_chunks(job: Job) -> None:
    backward = "g, = torch.autograd.grad(loss, logits, create_graph=True); (loss + g.square().sum()).backward()"
    plain = job.run(wide(LOSSES["mean"], backward=backward), card=4 << 30, VRAMFIT_VALUES="cpu").output()
    chunked = job.run(wide(LOSSES["mean"], backward=backward), CHUNKED, card=4 << 30, VRAMFIT_VALUES="cpu").output()
    assert chunked["gradient"] == pytest.approx(plain["gradient"], rel=1e-5, abs=1e-9)


# With the layer that makes the logits. `{use}` is what the script does with them beside.
WITH_LAYER = """
    import json, torch
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(0)
    first, last = nn.Linear(8, 16).cuda(), nn.Linear(16, 40000, bias={bias}).cuda()
    optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], 0.5)
    x = torch.randn(4, 16, 8).cuda()
    labels = torch.randint(0, 40000, (4, 16)).cuda()
    labels[0, :3] = -100
    used = None
    torch.cuda.reset_peak_memory_stats()
    with torch.autocast("cuda", torch.bfloat16, enabled={autocast}):
        logits = last(first(x))
        {before}
        loss = {loss}
    {after}
    loss.backward()
    optimizer.step()
    {later}
    print(json.dumps({{"loss": loss.item(), "used": used, "peak": torch.cuda.max_memory_allocated(), "gradients": [
        p.grad.flatten()[::97].tolist() for p in [*first.parameters(), *last.parameters()]]}}))
"""
LAYER_CHUNKED = {**CHUNKED, "linear": 40000}
OF_LAYERS = {
    "nanoGPT": "F.cross_entropy(logits.view(-1, logits.size(-1)), labels.view(-1))",
    "transformers": "F.cross_entropy(logits.float().view(-1, 40000), labels.view(-1), reduction='sum') / 61",
    "word_language_model": "nn.NLLLoss()(F.log_softmax(logits.view(-1, 40000), dim=1), labels.view(-1))",
    "method": "F.nll_loss(logits.log_softmax(-1).reshape(64, -1), labels.reshape(-1))",
}


def of_layer(job: Job, plan: dict | None, loss: str = "nanoGPT", **parts: object) -> dict:
    given = {"before": "pass", "after": "", "later": "", "autocast": False, "bias": True, **parts}
    plans = [] if plan is None else [plan]
    finished = job.run(WITH_LAYER.format(loss=OF_LAYERS[loss], **given), *plans, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert plan is None or finished.only("plan_applied")
    return finished.output()


def require_same_training(plain: dict, found: dict, rel: float) -> None:
    assert found["loss"] == pytest.approx(plain["loss"], rel=rel)
    assert found["used"] == plain["used"]
    for ours, theirs in zip(found["gradients"], plain["gradients"]):
        assert any(ours)
        scale = max(map(abs, theirs))
        assert ours == pytest.approx(theirs, rel=rel, abs=rel * scale)


@pytest.mark.parametrize(("autocast", "bias"), [(False, True), (False, False), (True, True)])
@pytest.mark.parametrize("loss", OF_LAYERS)
def test_a_last_layer_in_chunks_trains_the_same_and_makes_no_logits(
    job: Job, loss: str, autocast: bool, bias: bool
) -> None:
    plain = of_layer(job, None, loss, autocast=autocast, bias=bias)
    found = of_layer(job, LAYER_CHUNKED, loss, autocast=autocast, bias=bias)
    require_same_training(plain, found, 2e-2 if autocast else 1e-5)
    copies = 0.9 if autocast else 1.4  # of the logits in float32; under autocast they are half as large
    assert found["peak"] < plain["peak"] - copies * 64 * 40000 * 4


@pytest.mark.parametrize(
    ("place", "use"),
    [
        ("after", "used = logits.argmax(-1).flatten().tolist()"),
        ("before", "logits = logits / 2; used = float(logits.sum() * 0)"),
        ("before", "logits[..., 3] = 0.0"),
        ("before", "logits.retain_grad()"),
        ("before", "used = [list(logits.shape), str(logits.dtype), logits.requires_grad, logits.is_leaf]"),
        ("later", "used = logits.shape[-1]"),
    ],
)
def test_what_a_script_does_with_its_logits_is_done_with_all_of_them(job: Job, place: str, use: str) -> None:
    plain = of_layer(job, None, **{place: use})
    require_same_training(plain, of_layer(job, LAYER_CHUNKED, **{place: use}), 1e-5)


@pytest.mark.parametrize(
    ("place", "use", "reason"),
    [
        ("later", "used = logits.argmax(-1).flatten().tolist()", "after that one's weights or inputs were changed"),
        ("after", "logits.retain_grad()", "asks for the gradient of its last layer's outputs"),
        ("after", "torch.autograd.grad(loss, logits, retain_graph=True)", "asks for the gradient"),
    ],
)
def test_logits_that_cannot_be_had_any_more_end_the_job(job: Job, place: str, use: str, reason: str) -> None:
    parts = {"before": "pass", "after": "", "later": "", "autocast": False, "bias": True, place: use}
    script = WITH_LAYER.format(loss=OF_LAYERS["nanoGPT"], **parts)
    finished = job.run(script, LAYER_CHUNKED, card=4 << 30, VRAMFIT_VALUES="cpu")
    assert finished.exit_code != 0
    assert reason in finished.stderr


def test_a_loss_that_is_small_is_no_place_for_chunks(job: Job) -> None:
    finished = job.run(wide(LOSSES["mean"]), {"id": "chunked_loss"}, card=4 << 30)
    assert not finished.of_kind("plan_applied")
    assert "never came to a place" in finished.only("plan_refused")["text"]


def test_hooks_that_a_plan_calls_otherwise_are_told(job: Job) -> None:
    hooked = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)).cuda()
    HOOK
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(torch.ones(2, 4, device="cuda")).sum().backward()
        optimizer.step(); optimizer.zero_grad()
    """
    backward = hooked.replace("HOOK", "model[1].register_full_backward_hook(lambda *_: None)")
    forward = hooked.replace("HOOK", "model[1][0].register_forward_hook(lambda *_: None)")
    fp16 = {"id": "autocast", "dtype": "float16"}
    blocks = {"id": "checkpoint", "modules": ["1"]}
    for script, plan, told in (
        (backward, fp16, ["backward hooks of modules (Sequential) see gradients times the scale"]),
        (forward, blocks, ["hooks of modules within 1 are called in both of its runs"]),
        (forward, fp16, []),
        (backward, blocks, []),
    ):
        finished = job.run(script, plan, card=4 << 30)
        effects = [note["text"] for note in finished.of_kind("plan_effect")]
        assert [effect[: len(text)] for effect, text in zip(effects, told, strict=True)] == told
