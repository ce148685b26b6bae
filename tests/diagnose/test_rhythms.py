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
    assert growth is not None and growth["steps"] > 50
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
