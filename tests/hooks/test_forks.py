"""What the hooks remember in a forked child: nothing of its parent's, but for what each state names."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hooked_job import ROOT, Job

sys.path.insert(0, str(ROOT / "python"))
from vramfit.base import process

COMPARES = """
    import json, os, torch
    from torch import nn
    from torch.utils.data import DataLoader
    from vramfit.base import process

    PLAIN = (type(None), bool, int, str, bytes, tuple, list, dict, set)

    def is_as(value, fresh):
        return value == fresh if isinstance(fresh, PLAIN) else type(value) is type(fresh)

    def different():
        # Of each state that keeps not all: what it neither keeps nor has as a new one does, and what is not its own.
        found = []
        for state, arguments in process._process.owned:
            keeps = getattr(type(state), "KEEPS", ())
            if keeps == process.ALL:
                continue
            name, fresh = f"{type(state).__module__}.{type(state).__name__}", vars(type(state)(*arguments))
            found += [f"{name} keeps {kept}, which it has not" for kept in keeps if kept not in fresh]
            found += [f"{name}.{other}" for other in vars(state).keys() - fresh.keys()]
            found += [f"{name}.{own}" for own in fresh if own not in keeps and not is_as(vars(state)[own], fresh[own])]
        return found

    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(torch.ones(64, 4), batch_size=4)
    def child():
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(writing, json.dumps([different(), len(process.owned())]).encode())
            os._exit(0)
        os.close(writing)
        told = json.loads(os.fdopen(reading).read())
        os.waitpid(pid, 0)
        return told

    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        in_child = child()
    for x in loader:
        with torch.no_grad():
            model.eval()(x)
    print(json.dumps({"child": in_child[0], "parent": different(), "states": in_child[1]}))
"""


def test_a_forked_child_begins_with_new_states_but_for_what_they_keep(job: Job) -> None:
    finished = job.run(COMPARES, VRAMFIT_DIAGNOSE="1", VRAMFIT_MODULES="1", steps="auto")
    told = finished.output()
    assert told["child"] == []
    assert told["states"] > 60
    learnt = {name.rpartition(".")[0] for name in told["parent"]}
    for name in ("base.notes._State", "observe.phases.Position", "observe.loaders._State", "steer.cut.Cutter"):
        assert f"vramfit.{name}" in learnt  # or nothing was tested
    assert finished.of_kind("hook_failed") == []


class Learning:
    KEEPS = ("listeners",)

    def __init__(self, name: str) -> None:
        self.name = name
        self.listeners: list[str] = []
        self.told: list[str] = []

    def in_child(self) -> None:
        self.listeners.append(f"after {len(self.told)} told")


class Failing:
    def in_child(self) -> None:
        raise RuntimeError("on purpose")


class Installed:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.installed = False


def in_fork(told: Callable[[], Any]) -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, str(told()).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    assert os.waitpid(pid, 0)[1] == 0
    return text


@pytest.fixture
def owned_for_a_while() -> Any:
    count = len(process._process.owned)
    yield
    del process._process.owned[count:]


def test_states_are_made_anew_in_place_and_one_that_fails_keeps_no_other_from_it(owned_for_a_while: None) -> None:
    process.own(Failing)
    learning, installed = process.own(Learning, "a"), process.own(Installed)
    learning.listeners.append("first")
    learning.told.append("x")
    installed.installed = True
    told = in_fork(lambda: (learning.name, learning.listeners, learning.told, installed.installed))
    assert told == str(("a", ["first", "after 1 told"], [], True))
    assert (learning.listeners, learning.told) == (["first"], ["x"])


def test_a_cache_of_the_parents_is_empty_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_process", process._Process())
    calls = []

    @process.cached(2)
    def double(number: int) -> int:
        calls.append(number)
        return 2 * number

    assert [double(3), double(3), calls] == [6, 6, [3]]
    process._process.begin_in_child()  # as after a fork
    assert [double(3), calls] == [6, [3, 3]]
