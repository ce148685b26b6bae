"""Teachers of distillations: told, and held in half precision; and what saves nothing on a card."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 4 << 30
DISTILS = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    class Big(nn.Sequential): pass
    teacher = Big(nn.Linear(16, 512), nn.ReLU(), nn.Linear(512, 8)).cuda().eval()
    student = nn.Linear(16, 8).cuda()
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    held = []
    for (x,) in DataLoader(TensorDataset(torch.randn(24, 16)), batch_size=4):
        x = x.cuda()
        with torch.no_grad():
            wanted = teacher(x)
        loss = nn.functional.mse_loss(student(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
        held.append(torch.cuda.memory_allocated())
    print(json.dumps({{"student": student.weight.tolist(), "wanted": str(wanted.dtype)[6:], "held": held[-1],
                       "teacher": str(teacher[0].weight.dtype)[6:]}}))
"""
HALF_TEACHER = {"id": "half_teacher", "dtype": "bfloat16"}


def test_a_teacher_is_told_with_what_its_weights_take(job: Job) -> None:
    note = job.run(DISTILS.format(after=""), card=CARD).only("teacher")
    assert note["class_name"] == "Big"
    assert note["bytes"] == 4 * (16 * 512 + 512 + 512 * 8 + 8)
    assert note["is_float"] is True


def test_an_evaluation_between_steps_is_no_teacher(job: Job) -> None:
    script = DISTILS.replace("wanted = teacher(x)", "wanted = x[:, :8]")
    assert job.run(script.format(after=""), card=CARD).of_kind("teacher") == []


def test_a_teacher_in_half_precision_takes_half_and_teaches_nearly_the_same(job: Job) -> None:
    plain = job.run(DISTILS.format(after=""), card=CARD, VRAMFIT_VALUES="cpu").output()
    finished = job.run(DISTILS.format(after=""), HALF_TEACHER, card=CARD, VRAMFIT_VALUES="cpu")
    changed = finished.output()
    assert (changed["wanted"], changed["teacher"]) == ("float32", "bfloat16")
    assert plain["held"] - changed["held"] >= 0.45 * 4 * (16 * 512 + 512 * 8)
    flat = [[value for row in one["student"] for value in row] for one in (plain, changed)]
    assert flat[0] != flat[1]
    assert flat[1] == pytest.approx(flat[0], abs=0.02)
    assert finished.only("plan_applied")["text"] == "Big is held and run in bfloat16"


@pytest.mark.parametrize("change", ["p.data.mul_(0.5)", "p.data.mul_(0.99).add_(0.01)"])
def test_weights_that_the_script_changes_end_the_job(job: Job, change: str) -> None:
    after = f"[{change} for p in teacher.parameters()]"
    finished = job.run(DISTILS.format(after=after), HALF_TEACHER, card=CARD, VRAMFIT_VALUES="cpu")
    assert "the script changes the weights of Big" in finished.of_kind("plan_refused")[0]["text"]
    assert finished.exit_code == 3


def test_a_job_without_a_teacher_refuses(job: Job) -> None:
    script = DISTILS.replace("wanted = teacher(x)", "wanted = x[:, :8]")
    finished = job.run(script.format(after=""), HALF_TEACHER, card=CARD)
    assert "never came to a place" in finished.only("plan_refused")["text"]


def test_masks_are_told_with_their_bytes(job: Job) -> None:
    script = """
        import torch
        from torch.nn.utils import prune
        net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.Linear(1024, 1024)).cuda()
        for layer in net:
            prune.l1_unstructured(layer, "weight", amount=0.5)
        net(torch.randn(2, 1024).cuda())
    """
    text = job.run(script, card=CARD).only("advice")["text"]
    assert text.startswith("torch.nn.utils.prune makes nothing smaller: 2 weights of Sequential have masks of 8.0 MiB")


def test_quantize_dynamic_is_told_to_save_nothing_on_a_card(job: Job) -> None:
    script = """
        import torch
        net = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1024))
        net = torch.ao.quantization.quantize_dynamic(net, {torch.nn.Linear}, dtype=torch.qint8)
    """
    text = job.run(script, card=CARD).only("advice")["text"]
    assert "saves nothing on a card: the kernels of its 2 layers (8.0 MiB in float32)" in text
    assert "train.py:4" in text


PADS = """
    import torch
    from torch.utils.data import DataLoader
    net = torch.nn.Embedding(100, 8).cuda()
    def text(i):
        mask = torch.zeros(64, dtype=torch.long)
        mask[:{length}] = 1
        return {{"input_ids": mask, "attention_mask": mask}}
    for batch in DataLoader([text(i) for i in range(64)], batch_size=4):
        net(batch["input_ids"].cuda()).sum().backward()
"""


@pytest.mark.parametrize(
    ("length", "words"),
    [("16 + i % 8", "the longest text of the first 8 batches has 23: "), ("16 + (5 * i) % 49", "nothing at the peak")],
)
def test_padding_is_told_with_what_it_costs(job: Job, length: str, words: str) -> None:
    assert words in job.run(PADS.format(length=length), card=CARD).only("advice")["text"]


def test_full_texts_are_no_padding(job: Job) -> None:
    assert job.run(PADS.format(length="64"), card=CARD).of_kind("advice") == []
