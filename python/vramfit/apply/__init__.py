"""Applies a plan file (VRAMFIT_PLAN) to the unmodified script: one module per technique.

Each technique module has `install(torch, options)`, called once torch is imported; `allocator` also has
`before_torch(options)`. A technique says with `applied` or `refused` what became of it; one that says neither by the
end of the process was never reached, which is a refusal too.

A refusal before the first optimizer step ends the job there (PlanRefused): to train for days without what the plan was
to save is not what was asked for. What is only known at the first step is asked there (first_step.py). A refusal after
it is told at the end, and costs no training; where to go on would train something else, it ends the job too.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import sys
from typing import Any

from vramfit.base import events, garbage, notes, process
from vramfit.base.stop import PlanRefused
from vramfit.contract import asked, plans
from vramfit.contract import notes as said


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.begin("")

    def begin(self, path: str) -> None:
        self.path = path
        self.techniques: list[plans.Technique] = []
        self.unknown: dict[str, str] = {}  # entries of the plan that are not for this version, and why
        self.answered: set[str] = set()
        self.refused_early = False
        self.training = False  # since the first optimizer step, or the end of the process


_state = process.own(_State)


def planned() -> list[plans.Technique]:
    """The techniques of the plan that the environment names."""
    path = os.environ.get("VRAMFIT_PLAN")
    if not path:
        return []
    if _state.path != path:
        _state.begin(path)
        try:
            with open(path, encoding="utf-8") as file:
                entries = json.load(file).get("techniques", [])
        except (OSError, ValueError) as error:
            entries = []
            notes.note(said.PlanRefused(id="plan", text=f"the plan file can't be read: {error}"))
        for entry in entries:
            _take(entry)
    return _state.techniques


def _take(entry: dict[str, Any]) -> None:
    name = str(entry.get("id"))
    if name not in plans.TECHNIQUES:
        _state.unknown[name] = "this technique is not known here"
        return
    try:
        _state.techniques.append(plans.read(entry))
    except (TypeError, ValueError) as error:
        _state.unknown[name] = f"it could not be installed: {error}"


def has_values() -> bool:
    """Whether what kernels put out are numbers: on a real card, or where the CPU computes them."""
    return os.environ.get("VRAMFIT_REAL") == "1" or os.environ.get("VRAMFIT_VALUES") == asked.VALUES_CPU


def applied(technique: str, text: str) -> None:
    if technique not in _state.answered:
        _state.answered.add(technique)
        notes.note(said.PlanApplied(id=technique, text=text))


def refused(technique: str, text: str) -> None:
    """A refusal counts even after an `applied`: the run is no proof."""
    key = technique + " refused"
    if key not in _state.answered:
        _state.answered.update((technique, key))
        notes.note(said.PlanRefused(id=technique, text=text))
        if _state.training:
            return
        words = f"vramfit: the plan does not apply, so the job ends: {technique}: {text}"
        print(words, file=sys.stderr)
        _state.refused_early = True
        if "torch" in sys.modules:  # before, Python itself is starting, which nothing may end
            _end_job()


def ended(technique: str, text: str) -> None:
    """A refusal that ends the job whenever it comes: to go on would train something else."""
    _state.training = False
    refused(technique, text)
    _end_job()


def _end_job() -> None:
    garbage.run_ends_early()
    raise PlanRefused


def before_torch() -> None:
    for options in planned():
        if isinstance(options, plans.Allocator):
            from vramfit.apply import allocator

            allocator.before_torch(options)


def install(torch: Any) -> None:
    techniques = planned()
    if _state.refused_early:
        _end_job()
    for name, why in _state.unknown.items():
        refused(name, why)
    for options in techniques:
        try:
            importlib.import_module(f"vramfit.apply.{options.id}").install(torch, options)
        except Exception as error:
            refused(options.id, f"it could not be installed: {error!r}")
    if techniques:
        events.step_begin.listen(_at_step)
        _answer_at_exit(techniques)
    if os.environ.get("VRAMFIT_OBSTACLES") == "1" and not techniques:
        importlib.import_module("vramfit.apply.obstacles").install(torch)


def _at_step(_optimizer: Any) -> None:
    if _state.training:
        return
    from vramfit.apply import first_step

    for options in planned():
        missed = first_step.missed(options) if options.id not in _state.answered else ""
        if missed:
            refused(options.id, missed)
    _state.training = True


def _answer_at_exit(techniques: list[plans.Technique]) -> None:
    pid = os.getpid()

    def answer() -> None:
        if os.getpid() != pid:
            return
        stepped, _state.training = _state.training, True
        for options in techniques:
            if options.id not in _state.answered and _was_due(options, stepped):
                refused(options.id, _never_reached(options))

    atexit.register(answer)


def _named_loaders(options: plans.Technique) -> list[int]:
    """Those that the plan itself names."""
    if not isinstance(options, (plans.MicroBatch, plans.BatchSize)):
        return []
    return options.loaders if options.is_given("loaders") else []


def _never_reached(options: plans.Technique) -> str:
    from vramfit.observe import compiling, loaders

    for ordinal in _named_loaders(options):
        if not loaders.was_begun(ordinal):
            return f"the script has no data loader {ordinal}: it came to {loaders.spelled_begun()}"
    if isinstance(options, plans.MemoryBudget) and compiling.is_used():
        return "nothing that the script compiles by torch.compile is trained"
    return "the script never came to a place where it could be applied"


def _was_due(options: plans.Technique, stepped: bool) -> bool:
    """Whether the job came far enough. A run that ran out of memory in training says nothing of its evaluation, and one
    that did in its first forward nothing of backward."""
    from vramfit.observe import loaders
    from vramfit.observe.phases import position
    from vramfit.steer import errors

    if position.root is None:
        return False
    if not errors.ended_by_error():
        return True
    if wanted := _named_loaders(options):
        return any(loaders.was_begun(ordinal) for ordinal in wanted)
    if options.acts_in == "backward":
        return stepped
    return position.evaluated or options.acts_in != "evaluation"
