"""An evaluation whose network works on its batch in parts: the same outputs, less memory, and what it is not for."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 2 << 30
PLAN = {"id": "split_evaluation", "parts": 4}

SCRIPT = """
    import json, torch
    from torch import nn
    torch.manual_seed(0)
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            {layers}
        def forward(self, x, scale=1.0):
            {forward}
    model = Net().cuda()
    images = torch.randn({shape}).cuda()
    {before}
    model.eval()
    torch.cuda.reset_peak_memory_stats()
    with torch.{mode}():
        out = {call}
    {after}
    first = out[0] if isinstance(out, tuple) else getattr(out, "scores", out)
    print(json.dumps({{"out": first.flatten().tolist(), "shape": list(first.shape),
                       "peak": torch.cuda.max_memory_allocated()}}))
"""
LAYERS = "self.body = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 2, 3))"


def evaluation(
    layers: str = LAYERS,
    forward: str = "return self.body(x) * scale",
    shape: str = "8, 3, 32, 32",
    before: str = "",
    after: str = "",
    mode: str = "no_grad",
    call: str = "model(images, scale=2.0)",
) -> str:
    return SCRIPT.format(layers=layers, forward=forward, shape=shape, before=before, after=after, mode=mode, call=call)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
@pytest.mark.parametrize("shape", ["8, 3, 32, 32", "7, 3, 32, 32", "2, 3, 32, 32"])
def test_the_outputs_are_those_of_the_batch_and_take_less(job: Job, mode: str, shape: str) -> None:
    # The samples of parts of one are compared in the first evaluation, two at once.
    script = evaluation(mode=mode, shape=shape, before="model.eval(); torch.no_grad()(model)(images, scale=2.0)")
    whole = job.run(script, card=CARD, VRAMFIT_VALUES="cpu").output()
    split = job.run(script, PLAN, card=CARD, VRAMFIT_VALUES="cpu")
    assert split.output()["shape"] == whole["shape"]
    assert split.output()["out"] == pytest.approx(whole["out"], abs=1e-5)
    assert split.output()["peak"] < 0.75 * whole["peak"]
    batch = int(shape[0])
    assert split.only("plan_applied")["text"] == f"Net evaluates its batch of {batch} in {min(batch, 4)} parts"


# The last sample of the first part is evaluated by itself, too, where values are computed.
# Where each has a part of its own, the second is, behind the first.
COUNT = """calls = []
    class Counted(nn.Identity):
        def forward(self, x):
            calls.append(len(x))
            return x
    model.body.insert(0, Counted())"""


def test_the_training_stays_as_it_is(job: Job) -> None:
    before = f"""{COUNT}
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model(images).sum().backward()
    optimizer.step()"""
    script = evaluation(before=before, after="assert calls == [8, 3, 2, 2, 1, 1], calls")
    assert job.run(script, PLAN, card=CARD, VRAMFIT_VALUES="cpu").output()["shape"] == [8, 2, 30, 30]


def test_later_batches_are_split_evenly_and_of_another_size_too(job: Job) -> None:
    after = """with torch.no_grad():
        model(images)
        model(images[:5])
    assert calls[5:] == [2] * 4 + [2, 1, 1, 1], calls"""
    script = evaluation(before=COUNT, after=after)
    assert job.run(script, PLAN, card=CARD, VRAMFIT_VALUES="cpu").output()["shape"] == [8, 2, 30, 30]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"layers": "self.norm = nn.BatchNorm2d(3, track_running_stats=False)", "forward": "return self.norm(x)",
          "after": "", "before": "", "call": "(model.norm.train(), model(images))[1]"},
         "a batch norm averages over the samples"),
        ({"forward": "y = self.body(x).flatten(1)\n            return y @ y.T"}, "samples of different sizes, 3 and 2"),
        ({"forward": "return self.body(x).mean()"}, "a number for its batch"),
        ({"forward": "return self.body(x).sum(0)"}, "its first dimension is not the batch's"),
        ({"forward": "self.kept = self.body(x)\n            return self.kept"},
         "keeps a tensor of its forward in Net.kept"),
        ({"layers": "self.rnn = nn.LSTM(16, 8)", "forward": "return self.rnn(x)[0]", "shape": "8, 5, 16"},
         "that of sequences, not of samples: LSTM takes it so"),
        ({"before": "model.body[0].register_forward_hook(lambda m, a, out: None)"}, "hooks of the script are called"),
        ({"forward": "return self.body(x - x.mean(0))"}, "hangs on the others of its batch"),
        ({"forward": "return self.body(x) + torch.arange(len(x)).view(-1, 1, 1, 1).cuda()"}, "hangs on the others"),
        ({"forward": "return nn.functional.dropout(self.body(x), 0.5)"}, "or on chance"),
        ({"forward": "return self.body(x).flatten(1).sum(1).argsort().argsort()"}, "hangs on the others"),
        ({"forward": "y = self.body(x).flatten(1).sum(1)\n            return y > y.mean()"}, "hangs on the others"),
        ({"layers": LAYERS + "; self.register_buffer('calls', torch.zeros(1))",
          "forward": "self.calls += 1\n            return self.body(x)"}, "writes to its buffers"),
        ({"forward": "return self.body(x) + torch.zeros(8, 1, 1, 1).cuda()"}, "fails on a part of its batch"),
    ],
)  # fmt: skip
def test_what_is_not_of_its_samples_alone_is_refused(job: Job, given: dict[str, str], reason: str) -> None:
    done = job.run(evaluation(**given), PLAN, card=CARD, VRAMFIT_VALUES="cpu")
    assert reason in done.only("plan_refused")["text"]


ALONE = {**PLAN, "parts": 8}


@pytest.mark.parametrize(
    "forward",
    [
        "return self.body(x - x.mean(0))",
        "return self.body(x) + torch.arange(len(x)).view(-1, 1, 1, 1).cuda()",
        "return nn.functional.dropout(self.body(x), 0.5)",
        "y = self.body(x).flatten(1)\n            return y @ y.T",
    ],
)
def test_samples_that_are_evaluated_one_by_one_are_compared_with_two(job: Job, forward: str) -> None:
    done = job.run(evaluation(forward=forward), ALONE, card=CARD, VRAMFIT_VALUES="cpu")
    assert "hangs on the others of its batch" in done.only("plan_refused")["text"]


def test_samples_one_by_one_come_to_what_the_batch_does(job: Job) -> None:
    script = evaluation(before=COUNT, after="assert calls == [1] * 8 + [2], calls")
    split = job.run(script, ALONE, card=CARD, VRAMFIT_VALUES="cpu")
    whole = job.run(evaluation(), card=CARD, VRAMFIT_VALUES="cpu").output()
    assert split.output()["out"] == pytest.approx(whole["out"], abs=1e-5)


def test_that_samples_were_not_compared_is_said(job: Job) -> None:
    forward = "torch.empty(len(x), 1 << 29, dtype=torch.uint8, device='cuda'); return self.body(x)"
    script = evaluation(forward=forward)
    done = job.run(script, ALONE, card=1 << 30, VRAMFIT_VALUES="cpu")
    assert done.output()["shape"] == [8, 2, 30, 30]
    assert "was not compared: two at once do not fit" in done.only("plan_effect")["text"]


RESULT = """
    import dataclasses
    @dataclasses.dataclass(frozen=True)
    class Result:
        scores: torch.Tensor
        samples: int
        shape: torch.Size
        rest: dict = dataclasses.field(default_factory=dict)
        pixels: int = dataclasses.field(init=False, default=0)
        def __post_init__(self):
            object.__setattr__(self, "pixels", self.scores[:, 0].numel())"""


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_data_classes_and_numbers_of_samples_are_those_of_the_batch(job: Job, parts: int) -> None:
    layers = LAYERS + RESULT.replace("\n", "\n        ") + "\n            self.made = Result"
    forward = "y = self.body(x); return self.made(y, len(x), y.shape, {'also': y * 2, 'layers': 4})"
    after = """assert (out.samples, out.pixels, out.shape) == (8, 8 * 900, torch.Size([8, 2, 30, 30])), out
    assert out.rest["layers"] == 4
    assert type(out.shape) is torch.Size, type(out.shape)
    assert torch.equal(out.rest["also"], out.scores * 2) and type(out).__name__ == "Result\""""
    script = evaluation(layers=layers, forward=forward, after=after, call="model(images)")
    whole = job.run(script, card=CARD, VRAMFIT_VALUES="cpu").output()
    split = job.run(script, {**PLAN, "parts": parts}, card=CARD, VRAMFIT_VALUES="cpu")
    assert not split.of_kind("plan_refused")
    assert split.output()["out"] == pytest.approx(whole["out"], abs=1e-5)


def test_a_number_that_may_be_one_of_samples_is_refused(job: Job) -> None:
    forward = "return self.body(x), 1"
    done = job.run(evaluation(forward=forward, call="model(images)"), ALONE, card=CARD, VRAMFIT_VALUES="cpu")
    assert "returns 1, which may be the number of its samples or not" in done.only("plan_refused")["text"]


@pytest.mark.parametrize("made", ["torch.jit.trace(model.eval(), images)", "torch.jit.script(model)"])
def test_networks_of_torchscript_are_evaluated_in_parts(job: Job, made: str) -> None:
    script = evaluation(before=f"model = {made}", call="model(images)")
    script = script.replace("x, scale=1.0", "x").replace("self.body(x) * scale", "self.body(x)")
    whole = job.run(script, card=CARD, VRAMFIT_VALUES="cpu").output()
    split = job.run(script, PLAN, card=CARD, VRAMFIT_VALUES="cpu")
    assert split.output()["out"] == pytest.approx(whole["out"], abs=1e-5)
    assert "evaluates its batch of 8 in 4 parts" in split.only("plan_applied")["text"]


def test_a_size_that_the_network_is_given_is_one_in_its_parts(job: Job) -> None:
    forward = "assert type(scale) is torch.Size, type(scale)\n            return self.body(x).view(-1, *scale)"
    script = evaluation(forward=forward, call="model(images, scale=torch.Size([2, 900]))")
    done = job.run(script, PLAN, card=CARD, VRAMFIT_VALUES="cpu")
    assert done.output()["shape"] == [8, 2, 900]
    assert done.only("plan_applied")
