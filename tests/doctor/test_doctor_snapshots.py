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


TRAINS = """
import torch.nn as nn
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
kept = []
try:
    for step in range(1000):
        loss = model(torch.randn(512, 1024, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError:
    pass
dump()
"""
OF_CPP = ("clone3", "unwind", "pthread_create", "ceval", "CUDACachingAllocator", "__libc_start")


def test_frames_of_cpp_are_in_no_view(doctor: Doctor) -> None:
    doctor.product.run(RECORD + TRAINS, gpu="rtx3060:2GiB", options=("--files", "shared", "--steps", "all"))
    folder = doctor.product.folder
    assert b"pthread_create" in (folder / "snapshot.pickle").read_bytes(), "torch records C++ frames by default"
    views = {
        "doctor": doctor.look("snapshot.pickle").stdout,
        "replay": doctor.product.call("replay", "snapshot.pickle").stdout,
    }
    for verb, file in (("report", "view.html"), ("export", "view.speedscope.json"), ("export", "view.csv")):
        done = doctor.product.call(verb, "snapshot.pickle", "-o", file)
        assert done.exit_code == 0, str(done)
        views[file] = (folder / file).read_text()
    for name, text in views.items():
        assert not [word for word in OF_CPP if word in text], name
    assert "(backward, in C++" in views["view.html"], "a block of the backward pass says so"
    first = doctor.look("snapshot.pickle").result["findings"][0]
    assert first["label"] == "leak_growth", first
    assert ".py:" in first["evidence"][0]["reasoning"], first


# One line makes what a step frees again and what is kept of it.
MIXED = """
import collections, random
def layer(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
def step(sizes=(20,)):
    for mib in sizes:
        saved = [layer(mib) for _ in range(4)]
        out = layer(mib)
        del saved
    return out
"""

MIXED_LEAKS = {
    "each step": "history = []\nfor _ in range(50): history.append(step())\ndump()",
    "now and then": (
        "history = []\nfor i in range(120):\n    out = step()\n    if i % 4 == 0: history.append(out)\ndump()"
    ),
    "every size": (
        "history = []\ntry:\n    for i in range(2000): history.append(step((12, 50, 22, 34, 28)[i % 5:][:1]))\n"
        "except torch.cuda.OutOfMemoryError: dump()"
    ),
    "a ring of the last events": (
        "torch.cuda.memory._record_memory_history(max_entries=600)\n"
        "history = []\nfor _ in range(200): history.append(step())\ndump()"
    ),
}


@pytest.mark.parametrize("kind", MIXED_LEAKS)
def test_what_stays_of_a_line_that_also_makes_what_is_freed_is_the_leak(doctor: Doctor, kind: str) -> None:
    doctor.product.run(RECORD + MIXED + MIXED_LEAKS[kind], gpu="rtx3060", options=("--files", "shared"))
    done = doctor.look(str(doctor.product.folder / "snapshot.pickle"))
    first = done.result["findings"][0]
    assert first["label"] == "leak_growth" and first["confidence"] >= 0.6, done.stdout
    assert "in layer" in str(first["evidence"]), first
    for other in done.result["findings"][1:]:
        assert other["label"] != "fragmentation" or other["confidence"] <= 0.4, done.stdout


BOUNDED = {
    "a queue": "last = collections.deque(maxlen=30)\nfor _ in range(100): last.append(step())",
    "a queue that the recording found full": (
        "last = collections.deque(maxlen=30)\nfor _ in range(40): last.append(step())\n"
        "torch.cuda.memory._record_memory_history(max_entries=300)\nfor _ in range(80): last.append(step())"
    ),
    "a buffer with random places": (
        "random.seed(0)\nplaces = [None] * 12\nfor _ in range(150): places[random.randrange(12)] = step()"
    ),
    "a table filled at the start": (
        "table = [step() for _ in range(30)]\n"
        "for i in range(150): table[i % 30] = step() if i % 5 == 0 else table[i % 30]"
    ),
}


@pytest.mark.parametrize("kind", BOUNDED)
def test_what_is_bounded_is_no_leak_however_much_of_it_lives(doctor: Doctor, kind: str) -> None:
    doctor.product.run(RECORD + MIXED + BOUNDED[kind] + "\ndump()", gpu="rtx3060", options=("--files", "shared"))
    done = doctor.look(str(doctor.product.folder / "snapshot.pickle"))
    assert done.stdout.startswith("[✓]"), done.stdout


def test_a_line_of_our_own_hooks_is_never_the_line_that_leaks(doctor: Doctor) -> None:
    program = """
kept = []
def feed():
    scratch = torch.empty(4 * MIB, dtype=torch.uint8, device="cuda")
    kept.append(torch.randn(2, 1 << 20, device="cuda"))
for _ in range(40): feed()
"""
    doctor.product.run(RECORD + program + "\ndump()", gpu="rtx3060", options=("--files", "shared"))
    recorded = (doctor.product.folder / "snapshot.pickle").read_bytes()
    assert b"python/vramfit/" in recorded, "a hook stands around torch.randn"
    first = doctor.look(str(doctor.product.folder / "snapshot.pickle")).result["findings"][0]
    assert first["label"] == "leak_growth" and "in feed" in str(first["evidence"]), first
