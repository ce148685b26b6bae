"""Techniques for evaluations that run out, applied to scripts that know nothing of them, values computed."""

from __future__ import annotations

from typing import Any

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

CARD = 2 << 30
HALF = {"id": "half_evaluation", "dtype": "bfloat16"}
WEIGHTS = HALF | {"weights": True}

EVALUATION = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(16, 32)
            self.norm = nn.LayerNorm(32)
            self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))
            self.head = nn.Linear(32, 16, bias=False)
            self.head.weight = self.words.weight
        def forward(self, x):
            x = self.norm(self.words(x))
            return {{"scores": self.head(x + self.body(x)), "chosen": x.argmax(-1)}}
    model = Net(){place}
    inner = []
    model.body[0].register_forward_hook(lambda m, a, out: inner.append(str(out.dtype)[6:]))
    words = torch.arange(16).reshape(2, 8).cuda()
    {before}
    model.eval()
    with torch.{mode}():
        out = model(words)
    {after}
    types = {{name: str(p.dtype)[6:] for name, p in model.named_parameters()}}
    print(json.dumps({{"scores": out["scores"].tolist(), "dtype": str(out["scores"].dtype)[6:], "inner": inner,
                       "types": types, "held": torch.cuda.memory_allocated()}}))
"""


def evaluation(before: str = "", after: str = "", place: str = ".cuda()", mode: str = "no_grad") -> str:
    return EVALUATION.format(before=before, after=after, place=place, mode=mode)


def compute(job: Job, script: str, *plan: dict[str, Any], **variables: str) -> Finished:
    return job.run(script, *plan, card=CARD, VRAMFIT_VALUES="cpu", **variables)


def distance(without: Any, with_it: Any) -> float:
    """The largest difference of nested lists, as a share of the largest number."""
    flat = [_flat(without), _flat(with_it)]
    assert len(flat[0]) == len(flat[1])
    return max(abs(a - b) for a, b in zip(*flat)) / max(map(abs, flat[0]))


def _flat(value: Any) -> list[float]:
    return [number for item in value for number in _flat(item)] if isinstance(value, list) else [value]


TRAINS = "model(words)['scores'].sum().backward()"


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_an_evaluation_computes_in_half_precision_and_returns_what_it_did(job: Job, mode: str) -> None:
    plain = compute(job, evaluation(TRAINS, mode=mode)).output()
    finished = compute(job, evaluation(TRAINS, mode=mode), HALF)
    half = finished.output()
    assert half["inner"] == ["float32", "bfloat16"], "the training is not touched"
    assert half["dtype"] == "float32"
    assert set(half["types"].values()) == {"float32"}
    assert 0 < distance(plain["scores"], half["scores"]) < 0.03
    assert finished.only("plan_applied")["text"] == "evaluation under autocast to bfloat16"


@pytest.mark.parametrize("place", [".cuda()", ".to('cuda')", ".to(torch.device('cuda:0'), torch.float32)"])
def test_weights_in_half_put_out_the_same_and_take_half_the_memory(job: Job, place: str) -> None:
    plain = compute(job, evaluation(place=place)).output()
    rounded = compute(job, evaluation(place=place), HALF).output()
    kept = compute(job, evaluation(place=place), WEIGHTS).output()
    assert kept["types"].pop("norm.weight") == kept["types"].pop("norm.bias") == "float32"
    assert set(kept["types"].values()) == {"bfloat16"}
    assert distance(rounded["scores"], kept["scores"]) < 0.01, "an embedding's rows are rounded as well"
    assert kept["held"] < plain["held"]


def test_weights_of_a_network_made_on_the_card_become_half_at_its_first_evaluation(job: Job) -> None:
    script = evaluation(place="", mode="inference_mode").replace(
        "import json, torch", "import json, torch; torch.set_default_device('cuda')"
    )
    kept = compute(job, script, WEIGHTS).output()
    assert kept["types"]["body.0.weight"] == "bfloat16"
    assert kept["dtype"] == "float32"


def test_weights_read_after_the_network_has_gone_to_the_card_are_rounded_too(job: Job) -> None:
    before = "model.load_state_dict({name: value * 0 + 0.125 for name, value in model.state_dict().items()})"
    kept = compute(job, evaluation(before), WEIGHTS)
    assert kept.output()["types"]["words.weight"] == "bfloat16"


@pytest.mark.parametrize(
    ("plan", "before", "after", "reason"),
    [
        (HALF, "torch.autocast('cuda', torch.bfloat16).__enter__()", "", "uses autocast with bfloat16 already"),
        (HALF, "", "model(words)['scores'].sum().backward()", "backward() on the output of a model in eval mode"),
        (WEIGHTS, "torch.optim.SGD(model.parameters(), lr=0.1)", "", "the script trains"),
        (WEIGHTS, TRAINS, "", "in training mode"),
    ],
)
def test_half_evaluation_refuses(job: Job, plan: dict[str, Any], before: str, after: str, reason: str) -> None:
    finished = compute(job, evaluation(before, after), plan)
    assert reason in finished.of_kind("plan_refused")[0]["text"]


def test_a_job_that_never_evaluates_refuses_a_plan_for_its_evaluation(job: Job) -> None:
    script = "import torch; m = torch.nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward()"
    assert job.run(script, HALF).only("plan_refused")["id"] == "half_evaluation"


# -- tiles

TILES = {"id": "tiles", "per_side": 2}

IMAGES = """
    import json, torch
    from torch import nn
    from torch.nn import functional as F
    torch.manual_seed(0)
    class Block(nn.Module):
        def __init__(self, ins, outs, stride=1):
            super().__init__()
            self.a = nn.Conv2d(ins, outs, 3, stride, 1)
            self.norm = nn.BatchNorm2d(outs)
            self.b = nn.Conv2d(outs, outs, 3, padding=2, dilation=2)
            self.down = nn.Conv2d(ins, outs, 1, stride) if stride > 1 else nn.Identity()
        def forward(self, x): return F.relu(self.down(x) + self.b(F.relu(self.norm(self.a(x)))))
    class Excite(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.scale = nn.Conv2d(n, n, 1)
        def forward(self, x): return x * self.scale(x.mean((2, 3), keepdim=True)).sigmoid()
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            {layers}
        def forward(self, x):
            {forward}
    model = Net().cuda().eval()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d): m.running_mean.normal_(0, 0.1); m.running_var.uniform_(0.5, 1.5)
    seen = []
    {before}
    images = torch.rand(3, 3, 200, 264, device="cuda")
    with torch.no_grad():
        result = model(images)
        torch.cuda.reset_peak_memory_stats()
        result = model(images)
        peak = torch.cuda.max_memory_allocated()
    {after}
    print(json.dumps(dict(peak=peak, shape=list(result.shape), values=result.flatten()[::7].tolist(), seen=seen)))
"""
DENSE = (
    "self.body = nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), "
    "Block(8, 16, 2), Block(16, 16), nn.ConvTranspose2d(16, 8, 4, 2, 1), "
    "nn.Upsample(scale_factor=2, mode='bilinear'), nn.Conv2d(8, 2, 3, padding=1))"
)
POOLED = (
    "self.conv = nn.Conv2d(3, 16, 5, padding=2); self.norm = nn.BatchNorm2d(16); "
    "self.relu = nn.ReLU(inplace=True); "
    "self.stage = nn.Sequential(Block(16, 16), Block(16, 32, 2)); self.pool = nn.AdaptiveAvgPool2d(1); "
    "self.head = nn.Linear(32, 5)"
)
POOLED_FORWARD = "return self.head(torch.flatten(self.pool(self.stage(self.relu(self.norm(self.conv(x))))), 1))"
SKIPS = (
    "self.a = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1)); "
    "self.b = Block(8, 16, 2); self.c = Block(16, 16); self.excite = Excite(16); "
    "self.d = nn.Conv2d(24, 2, 3, padding=1)"
)
SKIPS_FORWARD = (
    "s = self.a(x); y = self.c(self.b(s)); y = self.excite(y); "
    "return self.d(torch.cat([s, F.interpolate(y, size=s.shape[-2:])], 1))"
)
LOOKED_AT = (
    "self.a = nn.Conv2d(3, 8, 3, padding=1); self.b = nn.Conv2d(8, 8, 3, padding=1); "
    "self.c = nn.Conv2d(8, 2, 3, padding=1)"
)


def images(layers: str, forward: str, before: str = "", after: str = "") -> str:
    return IMAGES.format(layers=layers, forward=forward, before=before, after=after)


@pytest.mark.parametrize("per_side", [2, 3])
@pytest.mark.parametrize(
    ("layers", "forward"),
    [
        (DENSE, "return self.body(x)"),
        (POOLED, POOLED_FORWARD),
        (SKIPS, SKIPS_FORWARD),
        (LOOKED_AT, "a = self.a(x); self.kept = b = self.b(a); return self.c(b) + self.kept.mean()"),
        (LOOKED_AT, "a = self.a(x); m = a.mean(); return self.c(self.b(a)) + m"),
    ],
    ids=["dense", "pooled", "skips", "kept", "mean"],
)
def test_tiles_put_out_what_the_whole_image_does(job: Job, layers: str, forward: str, per_side: int) -> None:
    plain = compute(job, images(layers, forward)).output()
    finished = compute(job, images(layers, forward), TILES | {"per_side": per_side})
    tiled = finished.output()
    assert tiled["shape"] == plain["shape"]
    assert distance(plain["values"], tiled["values"]) < 1e-5
    assert tiled["peak"] < plain["peak"] or "cat" in forward, "where the peak is in a chain"
    assert finished.only("plan_applied") and not finished.of_kind("hook_failed")


def test_modules_that_the_script_looks_into_are_left_alone(job: Job) -> None:
    before = "model.stage[0].register_forward_hook(lambda m, a, out: seen.append(list(out.shape)))"
    finished = compute(job, images(POOLED, POOLED_FORWARD, before), TILES)
    assert finished.output()["seen"] == [[3, 16, 200, 264]] * 2


@pytest.mark.parametrize(
    ("layer", "reaches"),
    [
        ("nn.Conv2d(4, 4, 3, padding=1)", [1, 1, 1, 1]),
        ("nn.Conv2d(4, 4, (1, 5), padding=(0, 2))", [1, 1, 0, 0]),
        ("nn.MaxPool2d(3, 2, 1)", [2, 1, 0, 1]),
        ("nn.AvgPool2d(2)", [2, 1, 0, 0]),
        ("nn.Conv2d(4, 4, 3, padding=1, padding_mode='reflect')", [1, 1, 1, 1]),
        ("nn.Sequential(*[nn.Conv2d(4, 4, 3, padding=d, dilation=d) for d in (6, 12)])", [1, 1, 18, 18]),
        ("nn.ConvTranspose2d(4, 4, 2, 2)", [1, 2, 0, 0]),
        ("nn.Upsample(scale_factor=2, mode='bilinear')", [1, 2, 1, 1]),
        ("nn.BatchNorm2d(4).eval()", [1, 1, 0, 0]),
        ("nn.BatchNorm2d(4)", None),
        ("nn.GroupNorm(2, 4)", None),
        ("nn.AdaptiveAvgPool2d(1)", None),
        ("nn.AdaptiveAvgPool2d(16)", None),
        ("nn.Conv2d(4, 4, 3, padding=1, padding_mode='circular')", None),
        ("nn.Conv2d(4, 4, 3)", None),
        ("nn.Upsample(size=64)", None),
        ("nn.Softmax(2)", None),
        ("nn.Conv3d(4, 4, 3)", None),
    ],
)  # fmt: skip
def test_the_reach_of_a_layer_is_what_it_depends_on(job: Job, layer: str, reaches: list[int] | None) -> None:
    script = f"""
        import json, torch
        from torch import nn
        from vramfit.apply.tile_reach import find_reach
        with torch.no_grad():
            found = find_reach(torch, {layer}, 4)
        r = found and found[0]
        print(json.dumps(r and [r.down, r.up, r.before, r.after]))
    """
    assert job.run(script).output() == reaches


@pytest.mark.parametrize(
    ("layers", "forward", "before", "reason"),
    [
        (DENSE, "return self.body(x)", "torch.no_grad = torch.enable_grad", "gradients on"),
        (DENSE, "return self.body(x) * x.amax().item()", "", "can't be run on shapes alone"),
        ("self.a = nn.Linear(264, 8)", "return self.a(x)", "", "follow each other"),
        (LOOKED_AT, "a = self.a(x); b = self.b(a); return self.c(b + a)", "", "follow each other"),
        (POOLED, POOLED_FORWARD, "model = nn.DataParallel(model).eval()", "wrapped in DataParallel"),
    ],
)
def test_tiles_refuse(job: Job, layers: str, forward: str, before: str, reason: str) -> None:
    finished = compute(job, images(layers, forward, before), TILES)
    assert reason in finished.of_kind("plan_refused")[0]["text"]


# -- weights in 8 bits

INT8 = {"id": "int8_weights"}

WEIGHTED = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(512, 64)
            self.look = nn.Conv1d(64, 256, 3, padding=1)
            self.body = nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 64))
            self.attend = nn.MultiheadAttention(64, 4, batch_first=True)
            self.head = nn.Linear(64, 512, bias=False)
            self.head.weight = self.words.weight
        def forward(self, x):
            x = self.words(x)
            x = x + self.attend(x, x, x, need_weights=False)[0]
            return self.head(x + self.body(self.look(x.mT).mT))
    {make}
    words = torch.arange(512).reshape(4, 128).cuda()
    {before}
    model.eval()
    held = torch.cuda.memory_allocated()
    with torch.{mode}():
        out = model(words)
    {after}
    print(json.dumps({{"scores": out.tolist(), "dtype": str(out.dtype)[6:], "held": held,
                       "now": torch.cuda.memory_allocated(), "shape": list(model.body[1].weight.shape),
                       "names": sorted(model.state_dict())}}))
"""


def weighted(make: str = "model = Net().cuda()", before: str = "", after: str = "", mode: str = "no_grad") -> str:
    return WEIGHTED.format(make=make, before=before, after=after, mode=mode)


ON_THE_CARD = "torch.set_default_device('cuda'); model = Net()"


@pytest.mark.parametrize("make", ["model = Net().cuda()", "model = Net().to('cuda:0')", ON_THE_CARD])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_weights_in_8_bits_take_a_quarter_and_put_out_nearly_the_same(job: Job, make: str, mode: str) -> None:
    plain = compute(job, weighted(make, mode=mode)).output()
    finished = compute(job, weighted(make, mode=mode), INT8)
    kept = finished.output()
    assert (kept["dtype"], kept["shape"], kept["names"]) == ("float32", [1024, 256], plain["names"])
    assert 0 < distance(plain["scores"], kept["scores"]) < 0.03
    # All that a plan can: 1.7 MB of weights, beside an output of 1 MB.
    saved = 0.7 * 4 * (512 * 64 + 64 * 3 * 256 + 3 * 64 * 64 + 256 * 1024 + 1024 * 64)
    assert plain["now"] - kept["now"] > saved
    if make != ON_THE_CARD:
        assert plain["held"] - kept["held"] > saved, "before the evaluation, too"
    assert finished.only("plan_applied")["text"] == "weights of 7 layers are kept in 8 bits"


def test_weights_in_8_bits_are_read_from_and_written_to_checkpoints(job: Job) -> None:
    load = "torch.manual_seed(1); state = Net().state_dict(); print(model.load_state_dict(state))"
    again = "again = Net().cuda(); again.load_state_dict(model.state_dict())"
    after = f"{again}; torch.testing.assert_close(again.eval()(words), out)"
    plain = compute(job, weighted(before=load)).output()
    finished = compute(job, weighted(before=load, after=f"with torch.no_grad(): {after}"), INT8)
    assert distance(plain["scores"], finished.output()["scores"]) < 0.03
    assert "All keys matched" in finished.stdout


def test_weights_in_8_bits_go_with_half_precision(job: Job) -> None:
    plain = compute(job, weighted()).output()
    both = compute(job, weighted(), INT8, WEIGHTS)
    assert distance(plain["scores"], both.output()["scores"]) < 0.05
    assert len(both.of_kind("plan_applied")) == 2


@pytest.mark.parametrize(
    ("make", "before", "after", "reason"),
    [
        ("model = Net().cuda()", "torch.optim.SGD(model.parameters(), lr=0.1)", "", "the script trains"),
        ("model = Net().cuda()", "model(words)", "", "in training mode"),
        ("model = nn.Sequential(nn.Embedding(512, 2), nn.LayerNorm(2)).cuda()", "", "", "to speak of"),
    ],
)
def test_weights_in_8_bits_are_refused(job: Job, make: str, before: str, after: str, reason: str) -> None:
    finished = compute(job, weighted(make, before, after), INT8)
    assert reason in finished.of_kind("plan_refused")[0]["text"]


# -- weights in 4 bits

INT4 = {"id": "int4_weights"}


@pytest.mark.parametrize("make", ["model = Net().cuda()", ON_THE_CARD])
def test_weights_in_4_bits_take_a_seventh_and_put_out_about_the_same(job: Job, make: str) -> None:
    plain = compute(job, weighted(make)).output()
    finished = compute(job, weighted(make), INT4)
    kept = finished.output()
    assert (kept["dtype"], kept["shape"], kept["names"]) == ("float32", [1024, 256], plain["names"])
    assert 0.01 < distance(plain["scores"], kept["scores"]) < 0.3
    saved = 0.84 * 4 * (512 * 64 + 64 * 3 * 256 + 3 * 64 * 64 + 256 * 1024 + 1024 * 64)
    assert plain["now"] - kept["now"] > saved
    assert finished.only("plan_applied")["text"] == "weights of 7 layers are kept in 4 bits"


def test_weights_in_4_bits_are_read_from_and_written_to_checkpoints(job: Job) -> None:
    load = "torch.manual_seed(1); state = Net().state_dict(); print(model.load_state_dict(state))"
    again = "again = Net().cuda(); again.load_state_dict(model.state_dict())"
    after = f"{again}; torch.testing.assert_close(again.eval()(words), out)"
    plain = compute(job, weighted(before=load)).output()
    finished = compute(job, weighted(before=load, after=f"with torch.no_grad(): {after}"), INT4)
    assert distance(plain["scores"], finished.output()["scores"]) < 0.3
    assert "All keys matched" in finished.stdout


def test_weights_in_4_bits_refuse_jobs_that_train(job: Job) -> None:
    before = "torch.optim.SGD(model.parameters(), lr=0.1)"
    finished = compute(job, weighted("model = Net().cuda()", before), INT4)
    assert "weights in 4 bits are for jobs that only evaluate" in finished.of_kind("plan_refused")[0]["text"]
