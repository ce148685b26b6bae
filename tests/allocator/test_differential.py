"""The allocator's simulator and PyTorch's own allocator on the virtual GPU do the same, call by call: every address,
segment, block, statistic, trace entry and OOM text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch_release
from actions import Plan
from compared import calls as compared_so_far
from comparison import Difference, compare, play_for_real, shrink, shrink_plan
from matrix import plans
from product import Finished, Product
from script import Call, Script

CARD = "rtx3060:1GiB"
VERSION = torch_release.of_this_interpreter()


def play_all(product: Product, play: Path, folder: Path, chosen: list[Plan]) -> list[str]:
    """What differs, one text for each program that does."""
    wrong = play_for_real(product.call, folder, chosen, CARD)
    if wrong:
        return [wrong]
    void = [plan for plan in chosen if (folder / f"{plan.name}.void").exists()]
    assert len(void) <= 0.08 * len(chosen), void
    compared = [plan for plan in chosen if plan not in void]
    compared_so_far.append(sum(len(list_calls(folder, plan)) for plan in compared))
    differing = [(plan, compare(plan, folder, play)) for plan in compared]
    return [describe(product, play, folder, plan, found) for plan, found in differing if found]


def list_calls(folder: Path, plan: Plan) -> list[str]:
    return [line for line in (folder / f"{plan.name}.expected").read_text().splitlines() if line == "#"]


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
    """The simulator is told of a setting that the real allocator does not have: that must show, and in one call."""
    plan = Plan("wrong", seed=3, calls=160, sizes="large", fill=0.5)

    def call(*words: str, **options: float) -> Finished:
        done = product.call(*words, **options)
        for program in Path(words[-1]).glob("*.program"):
            program.write_text(program.read_text().replace("conf ", "conf max_split_size_mb:32", 1))
        return done

    assert play_for_real(call, tmp_path, [plan], CARD) == ""
    assert compare(plan, tmp_path, play) is not None
    ((word, _, size, _),) = shrink_plan(call, tmp_path, plan, play, CARD)
    assert (word, size >= 32 << 20) == ("a", True)


def test_what_an_emptied_cache_waited_for_is_told_before_it() -> None:
    """The order in which neighbours are freed shows in the counters of split blocks: the simulator must know it when it
    waits, and the trace of the emptying is seen only with the next allocation."""
    blocks = [{"addr": 4096 * slot, "size": 4096, "stream": 0} for slot in range(1, 4)]
    steps = [("alloc", 0), ("alloc", 1), ("free_requested", 0), ("free_requested", 1)]
    steps += [("free_completed", 1), ("free_completed", 0), ("alloc", 2)]
    calls = [Call(f"a {slot} 4096 0", "malloc", slot) for slot in (1, 2)]
    calls += [Call(f"f {slot}", "free", slot, is_used=True) for slot in (1, 2)]
    calls += [Call("e", "open"), Call("a 3 4096 0", "malloc", 3, freed_by_waiting=2)]
    script = Script(calls, [{"action": action, **blocks[at]} for action, at in steps], [])
    script.build([])
    assert script.program[-3:] == ["order 2 1", "e", "a 3 4096 0"]


def test_shrinking_leaves_only_what_matters() -> None:
    actions = [("a", number) for number in range(40)]
    least = shrink(actions, lambda tried: [("a", 7) in one and ("a", 31) in one for one in tried])
    assert least == [("a", 7), ("a", 31)]
