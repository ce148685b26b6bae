"""Snapshots that a run on the virtual GPU wrote at its end: the cause is read out of them alone."""

from __future__ import annotations

import pytest
from doctor_calls import Doctor

pytestmark = [pytest.mark.slow, pytest.mark.warm]

RECORD = """
import torch
torch.cuda.memory._record_memory_history(max_entries=100000)
MIB = 1 << 20
def dump():
    torch.cuda.memory._dump_snapshot("snapshot.pickle")
"""

FRAGMENTED = """
large = [torch.empty(1024 * MIB, dtype=torch.uint8, device="cuda") for _ in range(10)]
del large
kept = [torch.empty(600 * MIB, dtype=torch.uint8, device="cuda") for _ in range(10)]
try:
    torch.empty(3000 * MIB, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    dump()
"""

GROWS = """
kept = []
def step():
    x = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    y = torch.empty(32 * MIB, dtype=torch.uint8, device="cuda")
    return torch.empty(40 * MIB, dtype=torch.uint8, device="cuda")
try:
    for _ in range(1000):
        kept.append(step())
except torch.cuda.OutOfMemoryError:
    dump()
"""

FULL = """
weights = [torch.empty(512 * MIB, dtype=torch.uint8, device="cuda") for _ in range(20)]
try:
    torch.empty(4096 * MIB, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    dump()
"""


@pytest.mark.parametrize(
    ("program", "label"),
    [(FRAGMENTED, "fragmentation"), (GROWS, "leak_growth"), (FULL, "capacity_exceeded")],
    ids=["fragmentation", "leak_growth", "capacity_exceeded"],
)
def test_a_snapshot_alone_shows_its_cause(doctor: Doctor, program: str, label: str) -> None:
    ran = doctor.product.run(RECORD + program, gpu="rtx3060", options=("--files", "shared"))
    snapshot = doctor.product.folder / "snapshot.pickle"
    assert snapshot.exists(), str(ran)
    done = doctor.look(str(snapshot))
    ranked = [(one["label"], one["confidence"]) for one in done.result["findings"]]
    assert ranked[0][0] == label, f"{ranked}\n{done.stdout}"


def test_the_setting_advised_for_a_fragmented_snapshot_was_replayed(doctor: Doctor) -> None:
    doctor.product.run(RECORD + FRAGMENTED, gpu="rtx3060", options=("--files", "shared"))
    finding = doctor.look(str(doctor.product.folder / "snapshot.pickle")).result["findings"][0]
    assert any("replayed with" in item["reasoning"] for item in finding["evidence"]), finding
    assert finding["confidence"] >= 0.85
