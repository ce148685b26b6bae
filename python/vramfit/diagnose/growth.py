"""Counts the steps of each phase and has their generations of tensors compared (generations)."""

from __future__ import annotations

from vramfit import events, recorder
from vramfit.diagnose.generations import Generations
from vramfit.phases import position

_of_phase: dict[int, Generations] = {}


def restart() -> None:
    _of_phase.clear()


def _step_counted(number: int) -> None:
    phase = position.phase
    if phase not in _of_phase:
        _of_phase[phase] = Generations(phase)
    _of_phase[phase].step_ends()


def _phase_begins(phase: int) -> None:
    # An evaluation is a pass of its own: what one of them gathers is dropped before the next. Training goes on.
    if phase in (recorder.VALIDATE, recorder.TEST):
        _of_phase.pop(phase, None)


def install() -> None:
    events.step_counted.listen(_step_counted)
    events.phase_begin.listen(_phase_begins)
