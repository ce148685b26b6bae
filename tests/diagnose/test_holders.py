"""The chain of references from a named variable down to an object. Needs no torch."""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from product import STAGE

sys.path.insert(0, str(STAGE / "python"))

from vramfit.base import frames
from vramfit.observe import holders


class Thing:
    pass


class Owner:
    def __init__(self) -> None:
        self.items = {"a": [Thing(), Thing()]}


class Slots:
    __slots__ = ("inside",)


class Constant:
    thing = Thing()


everywhere = [Thing()]
owner = Owner()


def holder_of(*targets: Any) -> list[holders.Holder]:
    return holders.find(list(targets), [targets])


def test_variables_containers_and_attributes() -> None:
    here = Thing()
    slots = Slots()
    slots.inside = Thing()
    recent = deque([Thing()], maxlen=3)
    found = holder_of(here, slots.inside, recent[0], everywhere[0], owner.items["a"][1], Constant.thing)
    assert [(each.kind, each.name) for each in found] == [
        ("local", "here"),
        ("attribute", "slots.inside"),
        ("local", "recent[0]"),
        ("global", "everywhere[0]"),
        ("attribute", "owner.items['a'][1]"),
        ("class", "Constant.thing"),
    ]
    assert (found[2].container, found[2].length) == ("deque(maxlen=3)", 1)
    assert (found[4].container, found[4].length) == ("list", 2)
    assert found[0].container == found[5].container == ""
    assert found[0].where.endswith("in test_variables_containers_and_attributes")


def test_a_closure_is_told_with_its_variable() -> None:
    def make() -> Callable[[], Any]:
        captured = Thing()
        return lambda: captured

    function = make()
    (found,) = holder_of(function())
    assert found.kind == "closure"
    assert found.name.startswith("function -> captured in closure of ")


def test_an_exception_holds_the_variables_of_dead_functions() -> None:
    def fails() -> None:
        inside = Thing()
        raise ValueError(str(inside))

    try:
        fails()
    except ValueError as error:
        kept = error
    (found,) = holder_of(frames.variables(kept.__traceback__.tb_next.tb_frame)["inside"])  # type: ignore[union-attr]
    assert (found.kind, found.name) == ("exception", "kept -> inside")
    assert "in test_an_exception_holds" in found.where and found.where.endswith("fails")


def test_a_generator_that_waits_holds_its_variables() -> None:
    def generate() -> Iterator[Any]:
        inside = Thing()
        yield inside

    waiting = generate()
    (found,) = holder_of(next(waiting))
    assert (found.kind, found.name) == ("generator", "waiting -> inside")


def test_two_things_in_one_container_have_names_of_their_own() -> None:
    pair = {"first": Thing(), "second": [Thing()]}
    found = holder_of(pair["first"], pair["second"][0])
    assert [each.name for each in found] == ["pair['first']", "pair['second'][0]"]


def test_looking_keeps_nothing_alive() -> None:
    import weakref

    here = Thing()
    reference = weakref.ref(here)
    holder_of(here)
    for frame in frames.stacks():
        frames.variables(frame)
    del here
    gc.collect()
    assert reference() is None


def test_what_no_name_leads_to_is_told_by_the_object_that_does() -> None:
    def cycle() -> Thing:
        owner, thing = Owner(), Thing()
        owner.items["made"] = [owner, thing]
        return thing

    found = holders.find([cycle()])[0]
    assert (found.kind, found.name) == ("object", "Owner.items['made'][1]")


def test_of_two_that_hold_it_alike_the_larger_is_named() -> None:
    buffer = [(Thing(), index) for index in range(20)]
    batch = [buffer[7]]
    assert holders.find([buffer[7][0]])[0].name == "buffer[7][0]"
    assert batch


def test_an_array_of_objects_that_the_collector_does_not_know() -> None:
    numpy = pytest.importorskip("numpy")
    cells = numpy.empty(9, dtype=object)
    cells[4] = Thing()
    target = holders.find([cells[4]])[0]
    assert (target.kind, target.name, target.container, target.length) == ("local", "cells[4]", "ndarray", 9)
