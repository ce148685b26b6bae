"""Memory that grows in a rhythm of its own, or in what a step needs: the line and the holder are named all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_growth import HEAD, growth_in, holders_of

pytestmark = pytest.mark.warm

Diagnose = Callable[..., dict[str, Any]]

ALL_STEPS = ("--within", "60")  # a rhythm shows in many of them

STEP = """
    optimizer.zero_grad()
    model(batch()).pow(2).mean().backward()
    optimizer.step()
"""


def test_copies_of_the_weights_kept_once_an_epoch_have_line_and_holder(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + f"""
import copy
kept = []
for step in range(100):
{STEP}
    if step % 10 == 9: kept.append(copy.deepcopy(model.state_dict()))
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["every"] == 10
    assert [line["line"].endswith("in <module>") for line in growth["lines"]] == [True], "the line of deepcopy alone"
    assert "kept" in holders_of(growth)


def test_optimizers_made_anew_are_counted_on_and_their_holder_is_named(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + f"""
old = []
for step in range(100):
    if step % 10 == 0:
        optimizer = torch.optim.Adam(model.parameters())
        old.append(optimizer)
{STEP}
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["steps"] > 50 and growth["every"] == 10
    assert "old" in {name.split(".")[0] for name in holders_of(growth)}


def test_a_sequence_that_gets_longer_is_what_grows(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + f"""
queue = torch.randn(512, 256, device="cuda")
for step in range(60):
    scores = model(queue).sum()
{STEP}
    queue = torch.cat([queue, torch.randn(512, 256, device="cuda")])
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["of_peak"] is True
    assert "queue" in holders_of(growth)


def test_a_window_that_has_filled_does_not_grow(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + f"""
window = collections.deque(maxlen=16)
for step in range(100):
{STEP}
    window.append(torch.randn(512, 256, device="cuda"))
""",
        options=ALL_STEPS,
    )
    assert growth_in(evidence, "train") is None


CYCLES = (
    HEAD
    + f"""
import gc
class Ring: pass
for step in range(80):
{STEP}
    ring = Ring()
    ring.itself, ring.made = ring, torch.randn(1 << 16, device="cuda")
"""
)


def test_cycles_that_wait_for_the_collector_are_no_growth(diagnose: Diagnose) -> None:
    evidence = diagnose(CYCLES, options=ALL_STEPS)
    assert evidence["growth"] == []
    assert evidence["judged_steps"] == 80
    assert evidence["collector"]["is_on"] and evidence["collector"]["freed_bytes"] > 1 << 20
    assert ".py:" in evidence["collector"]["line"]


def test_cycles_that_wait_longer_and_longer_are_no_need_that_rises(diagnose: Diagnose) -> None:
    assert diagnose(CYCLES.replace("range(80)", "range(250)"), options=ALL_STEPS)["growth"] == []


def test_cycles_that_nobody_collects_are(diagnose: Diagnose) -> None:
    evidence = diagnose(CYCLES.replace("import gc", "import gc; gc.disable()"), options=ALL_STEPS)
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["per_step_bytes"] == 1 << 18
    assert evidence["collector"] == {"is_on": False, "freed_bytes": 0, "line": None}


def test_what_cycles_hide_is_found_with_them(diagnose: Diagnose) -> None:
    """A list of whatever else beside the cycles: the collector frees them, and not it."""
    evidence = diagnose(CYCLES + "    holders = globals().setdefault('kept', []); kept.append(ring.made[:8].clone())\n")
    growth = growth_in(evidence, "train")
    assert growth is not None and "kept" in holders_of(growth)


def test_a_list_that_is_filled_in_the_last_quarter(diagnose: Diagnose) -> None:
    evidence = diagnose(
        HEAD
        + f"""
late = []
for step in range(200):
{STEP}
    if step >= 150: late.append(torch.randn(256, 1024, device="cuda"))
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["per_step_bytes"] == 1 << 20
    assert "late" in holders_of(growth)


def test_a_list_that_is_filled_late_beside_cycles(diagnose: Diagnose) -> None:
    """The collector is asked often enough for what it leaves to be seen, where that is more than what cycles hold."""
    evidence = diagnose(
        CYCLES.replace("range(80)", "range(250)")
        + "    if step >= 160: globals().setdefault('late', []).append(torch.randn(1 << 18, device='cuda'))\n",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["per_step_bytes"] == pytest.approx(1 << 20, rel=0.2)


def test_what_is_joined_on_to_itself_has_its_line_its_holder_and_what_it_needs(diagnose: Diagnose) -> None:
    """While it is joined the old one and the new one are there: a card is full at half of what stays."""
    evidence = diagnose(
        HEAD
        + f"""
bank = torch.empty(0, 4096, device="cuda")
for step in range(120):
{STEP}
    bank = torch.cat([bank, torch.randn(64, 4096, device="cuda")])
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None and growth["per_step_bytes"] > 1.7 * (1 << 20)
    assert "bank" in holders_of(growth)
    assert growth["lines"] and growth["holders"][0]["holder"]["filled_at"]


@pytest.mark.parametrize(
    "keep, name",
    [("kept.append(hidden)", "kept"), ("remember(n, step)", "remember")],
    ids=["a_list", "an_lru_cache"],
)
def test_what_never_comes_twice_in_one_shape_has_its_holder(diagnose: Diagnose, keep: str, name: str) -> None:
    evidence = diagnose(
        HEAD
        + f"""
import functools, random
random.seed(1)
kept = []
@functools.lru_cache(maxsize=None)
def remember(n, step):
    return torch.ones(n, 300, device="cuda")
for step in range(80):
{STEP}
    n = random.randint(50, 2000)
    hidden = torch.randn(n, 300, device="cuda")
    {keep}
""",
        options=ALL_STEPS,
    )
    growth = growth_in(evidence, "train")
    assert growth is not None
    assert name in {held.split("[")[0] for held in holders_of(growth)}
