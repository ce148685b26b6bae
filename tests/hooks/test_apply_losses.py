"""Losses over many classes in chunks, with their last layer."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

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
