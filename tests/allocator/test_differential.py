"""The allocator's simulator and PyTorch's own allocator on the virtual GPU do the same, call by call: every address,
segment, block, statistic, trace entry and OOM text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch_release
from actions import Plan
from comparison import Difference, compare, play_for_real, shrink, shrink_plan
from matrix import plans
from product import Product

CARD = "rtx3060:1GiB"
VERSION = torch_release.of_this_interpreter()


def play_all(product: Product, play: Path, folder: Path, chosen: list[Plan]) -> list[str]:
    """What differs, one text for each program that does."""
    halves = [chosen[::2], chosen[1::2]]
    with ThreadPoolExecutor() as pool:
        jobs = [
            pool.submit(play_for_real, product.call, folder / str(i), half, CARD)
            for i, half in enumerate(halves)
            if half
        ]
        wrong = [text for text in (job.result() for job in jobs) if text]
        if wrong:
            return wrong
    found = []
    for index, half in enumerate(halves):
        for plan in half:
            difference = compare(plan, folder / str(index), play)
            if difference:
                found.append(describe(product, play, folder / str(index), plan, difference))
    return found


def describe(product: Product, play: Path, folder: Path, plan: Plan, difference: Difference) -> str:
    small = shrink_plan(product.call, folder, plan, play, CARD)
    return (
        f"{plan}\n call {difference.call}\n simulated {difference.simulated}\n real {difference.real}\n least {small}"
    )


def spread(calls: int, seed: int, every: int = 1) -> list[Plan]:
    """So many calls over the whole matrix."""
    count = len(plans(VERSION, 0, seed, every))
    return plans(VERSION, calls // count + 1, seed, every)


@pytest.mark.slow
def test_fifty_thousand_calls_over_all_settings(product: Product, play: Path, tmp_path: Path) -> None:
    chosen = spread(50_000, seed=7, every=2)
    assert play_all(product, play, tmp_path, chosen) == []


@pytest.mark.every_version
@pytest.mark.parametrize("seed", [101, 102])
def test_a_million_calls_over_all_settings(product: Product, play: Path, tmp_path: Path, seed: int) -> None:
    assert play_all(product, play, tmp_path, spread(500_000, seed)) == []


def test_a_difference_is_found_and_made_small(product: Product, play: Path, tmp_path: Path) -> None:
    """Told that the real allocator is of another release, the simulator breaks ties otherwise: that must show."""
    plan = Plan("wrong", seed=3, calls=160, sizes="small", fill=0.1)
    assert play_for_real(product.call, tmp_path, [plan], CARD) == ""
    other = "2.6" if VERSION >= (2, 11) else "2.12"

    def disguise(folder: Path) -> None:
        for program in folder.glob("*.program"):
            program.write_text(program.read_text().replace("torch ", f"torch {other} ", 1))

    def call(*words: str, **options: float) -> object:
        done = product.call(*words, **options)
        disguise(Path(words[-1]))
        return done

    disguise(tmp_path)
    assert compare(plan, tmp_path, play) is not None
    least = shrink_plan(call, tmp_path, plan, play, CARD)
    assert 2 <= len(least) < 12


def test_shrinking_leaves_only_what_matters() -> None:
    actions = [("a", number) for number in range(40)]
    least = shrink(actions, lambda tried: [("a", 7) in one and ("a", 31) in one for one in tried])
    assert least == [("a", 7), ("a", 31)]
