"""What is trained, and in which type, from the moment an optimizer is made: `lora`, `half_weights`, optimizers."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

# Trains on the CPU, and tells what became of the weights, of copies and of checkpoints.
NETWORK = """
    import copy, io, json, pickle, torch
    from torch import nn
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(50, 32)
            self.up, self.norm, self.down = nn.Linear(32, 128), nn.LayerNorm(128), nn.Linear(128, 32, bias=False)
            self.head = nn.Linear(32, 5)

        def forward(self, x):
            return self.head(self.down(self.norm(self.up(self.emb(x)).relu())).mean(1))

    model = Net()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    x, y = torch.randint(0, 50, (16, 7)), torch.randint(0, 5, (16,))
    random = torch.get_rng_state()
    #made
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    assert torch.equal(random, torch.get_rng_state())

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            #stepping
            optimizer.step()
        return loss.item()
"""
TOLD = """
    first, last = train(1), train(40)
    after = model.state_dict()
    plain = Net()
    plain.load_state_dict(after)
    out = model(x)
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), plain
    apart = [(out - one(x)).abs().max().item() for one in copies]
    model.load_state_dict(after)
    apart.append((out - model(x)).abs().max().item())
    groups = optimizer.param_groups
    print(json.dumps({
        "losses": [first, last], "apart": apart, "keys": list(after) == list(before),
        "moved": [k for k in before if not torch.allclose(before[k], after[k].float(), rtol=1e-2)],
        "trained": sum(p.numel() for group in groups for p in group["params"]), "groups": len(groups),
        "types": sorted({str(p.dtype)[6:] for p in model.parameters()}),
        "copied": [type(module).__name__ for module in copies[1].modules()]}))
"""
RANK_2 = {"id": "lora", "rank": 2}
ADAPTERS = 2 * (32 + 128) * 2  # of two layers
HEAD = 32 * 5 + 5  # smaller than its adapters would be


def network(made: str = "", stepping: str = "", then: str = TOLD) -> str:
    return NETWORK.replace("#made", made).replace("#stepping", stepping) + then


def test_adapters_train_beside_weights_that_stand_still(job: Job) -> None:
    finished = job.run(network(), RANK_2)
    told = finished.output()
    assert told["losses"][1] < 0.2 * told["losses"][0]
    assert told["trained"] == ADAPTERS + HEAD
    assert told["moved"] == ["up.weight", "down.weight", "head.weight", "head.bias"]
    assert told["types"] == ["float32"]
    text = f"adapters of rank 2 in 2 linear layers: {ADAPTERS + HEAD} numbers are trained instead of 10341"
    assert finished.only("plan_applied")["text"] == finished.only("plan_effect")["text"] == text


def test_checkpoints_pickles_and_copies_are_plain_networks_that_compute_the_same(job: Job) -> None:
    told = job.run(network(), RANK_2).output()
    assert told["keys"]
    assert max(told["apart"]) < 1e-5
    assert told["copied"] == ["Net", "Embedding", "Linear", "LayerNorm", "Linear", "Linear"]


def test_weights_that_stand_still_are_held_in_half(job: Job) -> None:
    finished = job.run(network(), {**RANK_2, "weights": "bfloat16"})
    told = finished.output()
    assert told["types"] == ["bfloat16", "float32"]
    assert told["losses"][1] < 0.2 * told["losses"][0]
    assert max(told["apart"]) < 0.02
    assert "frozen weights in bfloat16" in finished.only("plan_applied")["text"]


def test_weights_beside_adapters_are_held_in_4_bits(job: Job) -> None:
    """What is loaded later, too; a copy, a pickle and a checkpoint have plain layers of the type that they were of."""
    then = """
    losses = [train(1), train(40)]
    plain, state = Net(), model.state_dict()
    plain.load_state_dict(state)
    given = torch.arange(8)[None]
    outputs = [net(given) for net in (plain, copy.deepcopy(model), model)]
    frozen, scale = model.up.weight_frozen, model.up.weight_scale
    model.load_state_dict(before)
    apart = (model.up.weight - before["up.weight"]).abs().amax(1) / before["up.weight"].abs().amax(1)
    print(json.dumps({
        "losses": losses, "types": sorted({str(value.dtype) for value in state.values()}),
        "bytes": [frozen.nbytes, scale.nbytes], "embedding": str(model.emb.weight.dtype),
        "apart": [(outputs[2] - other).abs().max().item() for other in outputs[:2]], "loaded": apart.max().item(),
        "same_parameter": frozen is own,
    }))
    """
    script = network("own = model.up.weight", then=then)
    finished = job.run(script, {**RANK_2, "weights": "int4"})
    shown = finished.output()
    assert shown["losses"][1] < 0.2 * shown["losses"][0]
    assert shown["types"] == ["torch.bfloat16", "torch.float32"]
    assert shown["bytes"] == [32 * 128 // 2, 32 * 128 // 32 * 4]
    assert shown["embedding"] == "torch.bfloat16"
    assert max(shown["apart"]) < 0.02
    assert shown["loaded"] <= 0.5 / 7 + 1e-6  # half a step between levels, of the largest in a group
    assert shown["same_parameter"]
    assert "frozen weights in int4" in finished.only("plan_applied")["text"]


def test_gradients_of_adapters_are_those_of_the_sum_that_a_layer_shows_as_its_weight(job: Job) -> None:
    then = """
    train(3)
    layer = model.up
    given = torch.randn(4, 32)
    layer.zero_grad()
    layer(given).square().sum().backward()
    mine = [layer.lora_a.grad.clone(), layer.lora_b.grad.clone()]
    layer.zero_grad()
    nn.functional.linear(given, layer.weight, layer.bias).square().sum().backward()
    shown = [layer.lora_a.grad, layer.lora_b.grad]
    print(json.dumps([torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in zip(mine, shown)]))
    """
    assert job.run(network(then=then), RANK_2).output() == [True, True]


def test_a_group_keeps_its_options_and_may_be_left_empty(job: Job) -> None:
    grouped = """
    still = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": (p for p in model.parameters() if p.dim() > 1), "weight_decay": 0.5}, {"params": still}]
    """
    script = network(grouped).replace("AdamW(model.parameters(), lr=1e-2)", "AdamW(groups, lr=1e-2)")
    then = """
    groups = optimizer.param_groups
    print(json.dumps([[group["weight_decay"], sum(p.numel() for p in group["params"])] for group in groups]))
    """
    finished = job.run(script.replace(TOLD, then), RANK_2)
    assert finished.output() == [[0.5, ADAPTERS + 160], [0.01, 5]]


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ("average = copy.deepcopy(model)", "a second Net is there"),
        ("model.up = model.down = nn.Identity(); model.norm = nn.LayerNorm(32)", "no linear layer is trained"),
        ("[p.requires_grad_(False) for p in [*model.emb.parameters(), *model.up.parameters()]]", "% of the network's"),
    ],
)
def test_networks_that_adapters_are_not_for_are_refused(job: Job, made: str, text: str) -> None:
    finished = job.run(network(made), {"id": "lora"})
    assert text in finished.only("plan_refused")["text"]
    assert finished.exit_code != 0


def test_an_optimizer_that_would_be_left_empty_is_refused(job: Job) -> None:
    script = network(then="    optimizer = torch.optim.SGD(model.emb.parameters(), lr=0.1)\n")
    finished = job.run(script, RANK_2)
    assert "SGD would be left with nothing to train" in finished.only("plan_refused")["text"]


def test_weights_that_the_script_sets_free_again_end_the_job(job: Job) -> None:
    finished = job.run(network(stepping="model.requires_grad_(True)"), RANK_2)
    assert "sets requires_grad of weights" in finished.only("plan_refused")["text"]


def test_transformers_layers_that_hold_their_weight_the_other_way_round(job: Job) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("no transformers in this environment")
    script = """
    import json, torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=100, n_positions=16, resid_pdrop=0,
                                       embd_pdrop=0, attn_pdrop=0))
    x = torch.randint(0, 100, (4, 16))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(20):
        loss = model(input_ids=x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    other = GPT2LMHeadModel(model.config)
    other.load_state_dict(model.state_dict())
    apart = (other.eval()(x).logits - model.eval()(x).logits).abs().max().item()
    trained = sum(p.requires_grad for p in model.parameters())
    print(json.dumps({"losses": losses[::19], "apart": apart, "trained": trained}))
    """
    told = job.run(script, {"id": "lora", "rank": 4, "weights": "bfloat16"}).output()
    assert told["losses"][1] < told["losses"][0]
    assert told["apart"] < 0.05
    assert told["trained"] == 2 * 4 * 2  # four layers in each of two blocks; the words' layer shares its weight


def test_linear_layers_are_told_with_what_adapters_would_leave(job: Job) -> None:
    loaded = "model.load_state_dict(before)"
    note = job.run(network(loaded)).of_kind("linear_layers")[0]
    assert note == {
        "kind": "linear_layers",
        "trained": 10341,
        "frozen": 0,
        "adapted": 2 * 32 * 128,
        "layers": 2,
        "width": 2 * (32 + 128),
        "whole": HEAD,
        "halved": 50 * 32 + 2 * 32 * 128,
        "loaded": True,
    }
    assert job.run(network()).of_kind("linear_layers")[0]["loaded"] is False


# -- half_weights


def test_networks_train_in_half_and_return_what_the_script_expects(job: Job) -> None:
    then = """
    losses = [train(1), train(40)]
    state = {str(v.dtype)[6:] for s in optimizer.state.values() for k, v in s.items() if k != "step"}
    print(json.dumps({"losses": losses, "state": sorted(state), "out": str(model(x).dtype),
                      "types": sorted({str(p.dtype)[6:] for p in model.parameters()}),
                      "gradients": sorted({str(p.grad.dtype)[6:] for p in model.parameters()})}))
    """
    finished = job.run(network(then=then), {"id": "half_weights"})
    told = finished.output()
    assert told["types"] == told["state"] == told["gradients"] == ["bfloat16"]
    assert told["out"] == "torch.float32"
    assert told["losses"][1] < 0.5 * told["losses"][0]
    text = "10341 weights are trained in bfloat16: updates that are small beside them are lost"
    assert finished.only("plan_applied")["text"] == finished.only("plan_effect")["text"] == text


def test_parts_of_a_networks_own_class_are_no_copies_of_it(job: Job) -> None:
    script = """
    import json, torch
    from torch import nn
    seen = []
    class Seen(nn.Module):
        def forward(self, x):
            seen.append(str(x.dtype))
            return x
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), Seen(), nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.randn(8, 4)).sum().backward()
    optimizer.step()
    print(json.dumps(seen))
    """
    assert job.run(script, {"id": "half_weights"}).output() == ["torch.bfloat16"]


def test_floats_that_a_network_is_given_are_cast(job: Job) -> None:
    script = """
    import json, torch
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    out = model(torch.randn(8, 4))
    out.sum().backward()
    optimizer.step()
    print(json.dumps([str(out.dtype), str(model[1].running_mean.dtype)]))
    """
    assert job.run(script, {"id": "half_weights"}).output() == ["torch.float32", "torch.bfloat16"]


def test_an_average_that_is_copied_from_a_network_in_half_takes_what_the_script_gives_it(job: Job) -> None:
    """timm's average of the weights is one, which is evaluated with inputs in float32."""
    script = """
        import copy, json, torch
        from torch import nn
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        average = copy.deepcopy(model)
        for _ in range(3):
            optimizer.zero_grad(); model(torch.randn(4, 8)).sum().backward(); optimizer.step()
            with torch.no_grad():
                for mean, p in zip(average.parameters(), model.parameters()): mean.lerp_(p, 0.1)
        with torch.no_grad(): out = average.eval()(torch.randn(4, 8))
        print(json.dumps([str(out.dtype), str(next(average.parameters()).dtype)]))
    """
    assert job.run(script, {"id": "half_weights"}).output() == ["torch.float32", "torch.bfloat16"]


@pytest.mark.parametrize(
    ("made", "stepping", "text"),
    [
        ("model.double()", "", "none of the weights that the script trains are in float32"),
        (
            "model = torch.nn.Linear(2, 2); context = torch.autocast('cuda'); context.__enter__(); "
            "random = torch.get_rng_state()",
            "",
            "uses autocast",
        ),
    ],
)
def test_scripts_that_half_weights_are_not_for_are_refused(job: Job, made: str, stepping: str, text: str) -> None:
    then = "    model(torch.randn(2, 2))\n" if "Linear" in made else TOLD
    finished: Any = job.run(network(made, stepping, then), {"id": "half_weights"}, card=4 << 30)
    assert text in finished.only("plan_refused")["text"], finished.stderr


# -- optimizers of other packages


def test_lion_takes_its_own_averages_and_is_refused_without_its_package(job: Job) -> None:
    then = """
    print(json.dumps([type(optimizer).__name__, optimizer.param_groups[0]["betas"], optimizer.param_groups[0]["lr"]]))
    """
    script = network(then=then).replace("lr=1e-2", "lr=1e-2, betas=(0.8, 0.9)")
    plan = {"id": "optimizer", "name": "bitsandbytes.optim.Lion8bit"}
    finished = job.run(script, plan, card=4 << 30)
    if importlib.util.find_spec("bitsandbytes") is None:
        assert "bitsandbytes" in finished.only("plan_refused")["text"]
    else:
        assert finished.output() == ["Lion8bit", [0.9, 0.99], 0.01]


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        ({"name": "json.JSONDecoder"}, "json.JSONDecoder is no optimizer: it has no step() and no zero_grad()"),
        ({"name": "json.Adam"}, "json has no Adam"),
        ({"name": "torch.optim.SGD", "options": {"rate": 1}}, "SGD can't be made: TypeError("),
    ],
)
def test_an_optimizer_that_can_not_be_made_is_the_plans_fault(job: Job, plan: dict[str, Any], why: str) -> None:
    finished = job.run(network(), {"id": "optimizer", **plan})
    assert why in finished.only("plan_refused")["text"]


@pytest.mark.parametrize("layer", ["Linear(64, 32)", "Conv2d(16, 8, 3)"])
def test_what_adafactor_would_keep_is_counted_by_its_shapes(job: Job, layer: str) -> None:
    script = f"""
    import json, torch
    layer = torch.nn.{layer}
    def state(kind):
        optimizer = kind(layer.parameters(), lr=0.1)
        for p in layer.parameters():
            p.grad = torch.ones_like(p)
        optimizer.step()
        return sum(v.numel() * 4 for s in optimizer.state.values() for k, v in s.items() if k != "step")
    state(torch.optim.SGD)
    print(json.dumps(state(torch.optim.Adafactor)))
    """
    finished = job.run(script)
    assert finished.of_kind("optimizer")[0]["factored_bytes"] == finished.output()


@pytest.mark.parametrize("technique", ["lora", "half_weights"])
def test_networks_that_are_shared_among_processes_already_are_refused(job: Job, technique: str) -> None:
    shared = """
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    model = nn.parallel.DistributedDataParallel(model)
    """
    finished = job.run(network(shared), {"id": technique})
    assert "within a DistributedDataParallel before its optimizer is made" in finished.only("plan_refused")["text"]
