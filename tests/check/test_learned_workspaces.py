"""`vramfit check --learn`: workspaces of convolutions, read out of a recording and used by later runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checked import check, record
from oom_text import MESSAGE
from product import Product

pytestmark = pytest.mark.warm

MIB = 1 << 20

# Layers of a ResNet, whose workspaces are among those that cuDNN was once asked for.
CONVOLVES = """
    import torch
    from torch import nn

    torch.backends.cudnn.benchmark = BENCHMARK
    torch.cuda.memory._record_memory_history(max_entries=100000)
    wide = nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()
    model = nn.Sequential(*wide, nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 256, 1)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.zeros(8, 64, 56, 56, device="cuda")).sum().backward()
        optimizer.step()
    torch.cuda.memory._dump_snapshot("recorded.pickle")
"""


def text(benchmark: bool) -> str:
    return CONVOLVES.replace("BENCHMARK", str(benchmark))


def workspaces(store: Path) -> dict[str, tuple[int, int]]:
    card = json.loads((store.parent / "learned.json").read_text())["cards"]["rtx3090"]
    return {one["layer"]: (one["taken"], one["largest"]) for one in card["workspaces"]}


def teach(store: Path, sizes: dict[str, tuple[int, int]]) -> None:
    """What a card with these workspaces would have taught."""
    listed: list[dict[str, Any]] = [
        {"layer": layer, "taken": taken, "largest": largest} for layer, (taken, largest) in sizes.items()
    ]
    store.parent.mkdir(parents=True, exist_ok=True)
    cards = {"rtx3090": {"recording": "made.pickle", "date": "2026-01-01", "workspaces": listed}}
    (store.parent / "learned.json").write_text(json.dumps({"version": 1, "cards": cards}))


@pytest.mark.parametrize("benchmark", [False, True], ids=["heuristics", "benchmark"])
def test_workspaces_of_a_card_are_learned_and_its_recording_is_repeated(product: Product, benchmark: bool) -> None:
    script = text(benchmark)
    first, card, own = (product.folder / name / "runs.db" for name in ("first", "card", "own"))
    recording = record(product, script, "--cudnn", "recorded", gpu="rtx3090")
    learned = check(product, recording, script, "--cudnn", "zero", "--learn", gpu="rtx3090", VRAMFIT_STORE=str(first))
    assert learned.exit_code == 0 and learned.result["agreement"] == "same", learned
    assert any("workspaces of 6 convolutions" in each for each in learned.result["learned"]), learned.result["learned"]
    known = workspaces(first)
    assert len(known) == 6 and any(taken > 0 for taken, _ in known.values()), known

    # Another card, with sizes that no cuDNN of ours would answer, each a different one; of one layer none.
    sizes = {layer: ((i * 3 + 1) * MIB, (i * 3 + 1 + 20 * benchmark) * MIB) for i, layer in enumerate(known)}
    sizes[next(iter(known))] = (0, 0)
    teach(card, sizes)
    recording = record(product, script, gpu="rtx3090", VRAMFIT_STORE=str(card))
    assert check(product, recording, script, gpu="rtx3090", VRAMFIT_STORE=str(own)).exit_code == 1
    learned = check(product, recording, script, "--learn", gpu="rtx3090", VRAMFIT_STORE=str(own))
    assert learned.exit_code == 0 and learned.result["agreement"] == "same", learned
    assert workspaces(own) == sizes
    said = "workspaces of this very convolution as learned from a recording"
    later = product.run(script, gpu="rtx3090", VRAMFIT_STORE=str(own))
    assert said in " ".join(later.stderr.split()), later.stderr
    for options in (("--no-learned",), ("--cudnn", "zero")):
        other = product.run(script, options=options, gpu="rtx3090", VRAMFIT_STORE=str(own))
        assert said not in " ".join(other.stderr.split()), options


def test_context_and_libraries_of_a_message_are_kept_with_it(product: Product) -> None:
    message = product.folder / "oom.txt"
    message.write_text(MESSAGE.format(total=23.57, process=23.5, allocated=22.5, idle=400.0))
    script, store = text(False), product.folder / "own" / "runs.db"
    recording = record(product, script, gpu="rtx3090")
    learned = check(
        product, recording, script, "--learn", "--context", f"from:{message}", gpu="rtx3090", VRAMFIT_STORE=str(store)
    )
    assert any(each.startswith("what context and libraries hold") for each in learned.result["learned"]), learned
    later = product.run(script, gpu="rtx3090", VRAMFIT_STORE=str(store))
    assert "learned from recorded.pickle" in " ".join(later.stderr.split()), later.stderr
    assert later.result["devices"][0]["context_bytes"] == 624 * MIB
