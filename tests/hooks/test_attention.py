"""Attention that writes its scores out: what is told of it, and fused kernels in its place."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30
ATTENTION = {"id": "attention"}
needs_transformers = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None, reason="transformers is not installed"
)

# -- calls of scaled_dot_product_attention that no fused kernel takes

CALLS = """
    import json, torch
    from torch.nn.functional import scaled_dot_product_attention
    torch.manual_seed(0)
    def given(*sizes):
        return [torch.randn(*size).cuda().requires_grad_() for size in sizes]
    before = torch.cuda.memory_allocated()
    {call}
    held = torch.cuda.memory_allocated() - before
    gradients = torch.autograd.grad(result.square().sum(), inputs)
    print(json.dumps({{"held": held, "shape": list(result.shape), "result": result.flatten().tolist(),
                       "gradients": [gradient.flatten().tolist() for gradient in gradients]}}))
"""
UNFUSED = {
    "three dimensions": "inputs = given(*3 * [(4, 70, 16)]); result = scaled_dot_product_attention(*inputs)",
    "three dimensions, masked": """inputs = given(*3 * [(4, 70, 16)])
    result = scaled_dot_product_attention(*inputs, attn_mask=torch.randn(4, 70, 70).cuda())""",
    "three dimensions, causal": """inputs = given(*3 * [(4, 70, 16)])
    result = scaled_dot_product_attention(*inputs, is_causal=True)""",
    "odd heads": "inputs = given(*3 * [(2, 3, 70, 15)]); result = scaled_dot_product_attention(*inputs)",
    "odd heads, masked": """inputs = given((2, 3, 70, 15), (2, 3, 66, 15), (2, 3, 66, 13))
    result = scaled_dot_product_attention(*inputs, attn_mask=(torch.rand(70, 66) > 0.3).cuda())""",
    "a scale of its own": """inputs = given(*3 * [(2, 3, 70, 15)])
    result = scaled_dot_product_attention(*inputs, scale=0.7)""",
    "heads of keys in groups": """inputs = given((2, 8, 70, 16), (2, 2, 66, 16), (2, 2, 66, 16))
    result = scaled_dot_product_attention(*inputs, enable_gqa=True)""",
    "strided": """inputs = given(*3 * [(2, 8, 16, 70)])
    result = scaled_dot_product_attention(*(one.transpose(-1, -2) for one in inputs))""",
    "switched off": """inputs = given(*3 * [(2, 8, 70, 16)])
    from torch.nn.attention import SDPBackend, sdpa_kernel
    with sdpa_kernel(SDPBackend.MATH):
        result = scaled_dot_product_attention(*inputs)""",
}


@pytest.mark.warm
@pytest.mark.parametrize("call", UNFUSED)
def test_a_call_is_brought_into_the_shape_of_a_fused_kernel(job: Job, call: str) -> None:
    script = CALLS.format(call=UNFUSED[call])
    plain = job.run(script, card=CARD, VRAMFIT_VALUES="cpu").output()
    finished = job.run(script, ATTENTION, card=CARD, VRAMFIT_VALUES="cpu")
    changed = finished.output()
    assert changed["shape"] == plain["shape"]
    assert changed["result"] == pytest.approx(plain["result"], abs=1e-5)
    for with_it, without in zip(changed["gradients"], plain["gradients"]):
        assert with_it == pytest.approx(without, rel=1e-3, abs=1e-4)
    assert changed["held"] < 0.8 * plain["held"]
    assert finished.only("plan_applied")["text"] == "scaled_dot_product_attention by a fused kernel"


LEFT_ALONE = {
    "fused already": "inputs = given(*3 * [(2, 8, 70, 16)]); result = scaled_dot_product_attention(*inputs)",
    "in double precision": """inputs = [one.detach().double().requires_grad_() for one in given(*3 * [(4, 70, 16)])]
    result = scaled_dot_product_attention(*inputs)""",
    "a single query": "inputs = given((4, 1, 16), (4, 70, 16), (4, 70, 16))\n"
    "    result = scaled_dot_product_attention(*inputs)",
    "deterministic": """torch.use_deterministic_algorithms(True, warn_only=True)
    inputs = given(*3 * [(4, 70, 16)])
    result = scaled_dot_product_attention(*inputs)""",
}


@pytest.mark.warm
@pytest.mark.parametrize("call", LEFT_ALONE)
def test_other_calls_are_left_alone(job: Job, call: str) -> None:
    script = CALLS.format(call=LEFT_ALONE[call])
    plain = job.run(script, card=CARD, VRAMFIT_VALUES="cpu").output()
    finished = job.run(script, ATTENTION, card=CARD, VRAMFIT_VALUES="cpu")
    assert finished.output() == plain
    assert finished.of_kind("plan_applied") == []


# -- MultiheadAttention that is asked for its weights

ATTENDS = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 2, batch_first=True, dropout={dropout})
        def forward(self, x):
            mask = torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), 1).cuda()
            padding = torch.zeros(x.shape[:2]).cuda()
            padding[0, -5:] = float("-inf")
            y, weights = self.attention(x, x, x, {masks})
            {use}
            return x + y
    net = nn.Sequential(Block(), Block()).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        loss = net(torch.randn(4, 256, 16).cuda()).square().mean()
        held = torch.cuda.memory_allocated()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({{"held": held, "weights": [p.flatten().tolist() for p in net.parameters()]}}))
"""


PADDED = {"masks": "key_padding_mask=padding", "dropout": "0"}


def near(changed: Finished, plain: Finished) -> None:
    for with_it, without in zip(changed.output()["weights"], plain.output()["weights"]):
        assert with_it == pytest.approx(without, abs=1e-5)


@pytest.mark.warm
def test_what_attention_keeps_is_told(job: Job) -> None:
    note = job.run(ATTENDS.format(use="", **PADDED), card=CARD).only("attention_kept")
    scores = 2 * 4 * 2 * 256 * 256 * 4
    assert (note["scores"], note["of_multihead"], note["calls"]) == (scores, scores, 2)
    assert (note["of_sdpa"], note["spared"], note["eager"]) == (0, 0, "")
    dropped = job.run(ATTENDS.format(use="", **{**PADDED, "dropout": "0.1"}), card=CARD).only("attention_kept")
    assert (dropped["scores"], dropped["calls"]) == (2 * scores + scores // 4, 2)
    fused = job.run(ATTENDS.format(use="", **PADDED), ATTENTION, card=CARD).only("attention_kept")
    assert (fused["scores"], fused["spared"]) == (0, scores)


@pytest.mark.warm
@pytest.mark.parametrize(
    ("masks", "use"),
    [
        ("key_padding_mask=padding", ""),
        ("attn_mask=mask, is_causal=True", "self.kept = weights.detach()"),
        ("average_attn_weights=False", "assert weights.shape == (4, 2, 256, 256)"),
    ],
)
def test_weights_that_nobody_reads_are_not_worked_out(job: Job, masks: str, use: str) -> None:
    script = ATTENDS.format(masks=masks, use=use, dropout="0")
    plain = job.run(script, card=CARD, VRAMFIT_VALUES="cpu")
    changed = job.run(script, ATTENTION, card=CARD, VRAMFIT_VALUES="cpu")
    near(changed, plain)
    scores = 2 * 4 * 2 * 256 * 256 * 4
    assert plain.output()["held"] - changed.output()["held"] > 0.9 * scores
    assert "weights that nobody reads" in changed.only("plan_applied")["text"]


@pytest.mark.warm
@pytest.mark.parametrize("use", ["y = y + weights.mean()", "print(weights)", "torch.stack([weights, weights])"])
def test_weights_that_the_script_reads_end_the_job(job: Job, use: str) -> None:
    finished = job.run(ATTENDS.format(use=use, **PADDED), ATTENTION, card=CARD, VRAMFIT_VALUES="cpu")
    assert "reads the weights that MultiheadAttention returns" in finished.of_kind("plan_refused")[0]["text"]
    assert finished.exit_code == 3


# -- models of transformers

BERT = """
    import json, torch
    from transformers import {kind}Config, {model}
    torch.manual_seed(0)
    config = {kind}Config({sizes})
    config._attn_implementation = "{attends}"
    net = {model}(config).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(2):
        ids = torch.randint(0, 90, (4, 128)).cuda()
        mask = torch.ones_like(ids)
        mask[0, 100:] = 0
        loss = net(input_ids=ids, attention_mask=mask, labels={labels}{asked})[0]
        held = torch.cuda.memory_allocated()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps({{"held": held, "weights": [p.flatten().tolist() for p in net.parameters()]}}))
"""
CLASSIFIES = {
    "kind": "Bert",
    "model": "BertForSequenceClassification",
    "sizes": "vocab_size=90, hidden_size=64, num_hidden_layers=2, num_attention_heads=8, intermediate_size=32, "
    "hidden_dropout_prob=0, attention_probs_dropout_prob=0",
    "labels": "torch.zeros(4, dtype=torch.long).cuda()",
    "attends": "eager",
    "asked": "",
}
WRITES = {
    **CLASSIFIES,
    "kind": "GPT2",
    "model": "GPT2LMHeadModel",
    "sizes": "vocab_size=90, n_embd=64, n_layer=2, n_head=8, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0",
    "labels": "ids",
}


@needs_transformers
@pytest.mark.parametrize("kind", [CLASSIFIES, WRITES], ids=["BERT", "GPT-2"])
def test_eager_models_attend_by_sdpa(job: Job, kind: dict[str, str]) -> None:
    script = BERT.format(**kind)
    plain = job.run(script, card=CARD, VRAMFIT_VALUES="cpu")
    changed = job.run(script, ATTENTION, card=CARD, VRAMFIT_VALUES="cpu")
    near(changed, plain)
    scores = 2 * 4 * 8 * 128 * 128 * 4
    note = plain.only("attention_kept")
    assert (note["eager"], note["why_not"], note["scores"]) == (kind["model"], "", scores)
    assert plain.output()["held"] - changed.output()["held"] > 0.5 * scores  # masks stay
    assert "attends by sdpa instead of eager" in changed.only("plan_applied")["text"]


@needs_transformers
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"asked": ", output_attentions=True"}, "is called with output_attentions"),
        ({"sizes": CLASSIFIES["sizes"] + ", output_attentions=True"}, "is asked for its attention's weights"),
        ({"attends": "sdpa"}, "no attention was called that a fused kernel could work out"),
    ],
)
def test_models_that_have_to_stay_eager_refuse(job: Job, change: dict[str, str], reason: str) -> None:
    finished = job.run(BERT.format(**{**CLASSIFIES, **change}), ATTENTION, card=CARD)
    assert reason in finished.of_kind("plan_refused")[0]["text"]
    assert finished.exit_code == 3


# -- the script's own lines


@pytest.mark.warm
def test_attention_of_the_scripts_own_lines_is_told_and_refused(job: Job) -> None:
    script = """
        import torch
        net = torch.nn.Linear(16, 16).cuda()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        x = net(torch.randn(4, 256, 16).cuda())
        y = torch.softmax((x @ x.transpose(1, 2) / 4).masked_fill(torch.ones(256, 256).cuda() == 0, -1e9), -1) @ x
        y.softmax(-1).mean().backward()
        optimizer.step()
    """
    note = job.run(script, card=CARD).only("attention_kept")
    assert (note["scores"], note["of_sdpa"], note["of_multihead"]) == (4 * 256 * 256 * 4, 0, 0)
    finished = job.run(script, ATTENTION, card=CARD)
    assert "no attention was called that a fused kernel could" in finished.only("plan_refused")["text"]
