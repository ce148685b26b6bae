"""Counts the steps of each phase and has their generations of tensors compared (generations)."""

from __future__ import annotations

from vramfit.base import events, process, recorder
from vramfit.diagnose.generations import Generations
from vramfit.observe import loaders
from vramfit.observe.phases import position
from vramfit.steer import cut

_MAX_BATCHES = 12  # of a training pass that seems to pile something up


class _State:
    def __init__(self) -> None:
        self.of_phase: dict[int, Generations] = {}


_state = process.own(_State)


def _step_counted(number: int) -> None:
    phase = position.phase
    if phase not in _state.of_phase:
        _state.of_phase[phase] = Generations(phase)
    _state.of_phase[phase].step_ends()


def _phase_begins(phase: int) -> None:
    # An evaluation is a pass of its own: what one of them gathers is dropped before the next. Training goes on.
    if phase in (recorder.VALIDATE, recorder.TEST):
        _state.of_phase.pop(phase, None)


def _before_batch(this_pass: loaders.Pass) -> None:
    """A few batches more of a training pass that is cut, where each leaves more behind: a window may be all it is."""
    generations = _state.of_phase.get(recorder.TRAIN)
    if generations is None or this_pass.wanted is None or not this_pass.trained or not cut.cutter.automatic:
        return
    if generations.rises and this_pass.delivered + 1 >= this_pass.wanted and this_pass.wanted < _MAX_BATCHES:
        this_pass.wanted += 1


def install() -> None:
    loaders.before_batch.append(_before_batch)
    events.step_counted.listen(_step_counted)
    events.phase_begin.listen(_phase_begins)
