"""The simulator's lines against the real allocator's, and a failing program made as small as it can be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from actions import Action, Plan
from matrix import as_json

HERE = Path(__file__).resolve().parent
GIVEN_BACK = ("segment_free", "segment_unmap")
TRACED = ("alloc", "oom", "free_requested", "free_completed", "segment_alloc", "segment_map", *GIVEN_BACK)


@dataclass
class Difference:
    name: str
    call: int  # which one of the program
    simulated: list[str]
    real: list[str]


def read_calls(text: str, plan: Plan, has_pool_ids: bool) -> list[list[str]]:
    """The lines of each call. PyTorch goes through hash tables where it waits for events and where it frees the pools
    of graphs: there the order says nothing."""
    calls, completed, given_back, rest = [], [], [], []
    for line in text.splitlines():
        word = line.split(" ", 1)[0]
        if word in TRACED and not has_pool_ids:
            line = line.rsplit(" ", 2)[0]
        if line.startswith("stat reserved_bytes_by_private_pools."):  # 2.14: a sum that the segments tell as well
            continue
        if line == "#":
            calls.append(sorted(completed) + sorted(given_back) + rest)
            completed, given_back, rest = [], [], []
        elif word == "free_completed":
            completed.append(line)
        elif word in GIVEN_BACK and plan.graphs:
            given_back.append(line)
        else:
            rest.append(line)
    return calls


def simulate(play: Path, program: Path) -> str:
    done = subprocess.run([play, program], capture_output=True, text=True, timeout=300)
    return done.stdout + (f"exit {done.returncode}: {done.stderr}\n#\n" if done.returncode else "")


def compare(plan: Plan, folder: Path, play: Path) -> Difference | None:
    expected = (folder / f"{plan.name}.expected").read_text()
    has_pool_ids = any(line.startswith("stat num_oom_rejections") for line in expected.splitlines())  # 2.12
    real = read_calls(expected, plan, has_pool_ids)
    simulated = read_calls(simulate(play, folder / f"{plan.name}.program"), plan, has_pool_ids)
    for call, (mine, theirs) in enumerate(zip(simulated, real)):
        if mine != theirs:
            return Difference(plan.name, call, without(mine, theirs), without(theirs, mine))
    if len(simulated) != len(real):
        return Difference(plan.name, min(len(simulated), len(real)), ["(other number of calls)"], [])
    return None


def without(lines: list[str], others: list[str]) -> list[str]:
    return [line for line in lines if line not in others][:12] or ["(the same lines in another order)"]


def play_for_real(call: Callable[..., Any], folder: Path, plans: list[Plan], card: str) -> str:
    """Through PyTorch's allocator on the virtual GPU; returns what went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    chosen = folder / "plans.json"
    chosen.write_text(json.dumps(as_json(plans)))
    script = os.fspath(HERE / "real_allocator.py")
    options = ["--gpu", card, "--steps", "all", "--files", "shared"]  # it writes what is compared
    words = ["run", *options, "--", sys.executable, script, os.fspath(chosen), os.fspath(folder)]
    done = call(*words, timeout=3000)
    return "" if done.exit_code == 0 else f"exit {done.exit_code}\n{done.stderr[-3000:]}"


def shrink(actions: list[Action], fails: Callable[[list[list[Action]]], list[bool]]) -> list[Action]:
    """Leaves out halves, quarters, ... as long as the rest still fails. `fails` tries several at once."""
    parts = 2
    while len(actions) > 1:
        size = max(1, len(actions) // parts)
        candidates = [actions[:at] + actions[at + size :] for at in range(0, len(actions), size)]
        results = fails(candidates)
        if True in results:
            actions = candidates[results.index(True)]
            parts = max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(actions), parts * 2)
    return actions


def shrink_plan(call: Callable[..., Any], folder: Path, plan: Plan, play: Path, card: str) -> list[Action]:
    """The fewest actions of a failing plan's that still make the two differ."""
    actions = [tuple(action) for action in json.loads((folder / f"{plan.name}.actions").read_text())]
    rounds = 0

    def fails(candidates: list[list[Action]]) -> list[bool]:
        nonlocal rounds
        rounds += 1
        inside = folder / f"shrink-{rounds}"
        tried = [replace(plan, name=f"{i:03d}", script=script) for i, script in enumerate(candidates)]
        play_for_real(call, inside, tried, card)
        written = [(inside / f"{one.name}.expected").exists() for one in tried]
        return [there and compare(one, inside, play) is not None for one, there in zip(tried, written)]

    return shrink(actions, fails)
