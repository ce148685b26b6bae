"""Forward passes outside training: whether gradients were on, and what they left allocated."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

from vramfit.base import events, frames, notes, process, recorder
from vramfit.contract import notes as said
from vramfit.contract.fields import PhaseName
from vramfit.observe import owners, scopes
from vramfit.observe.phases import position

_MORE = 1.05  # a call that keeps this much more than the one noted is noted too
_MAX_NOTES = 8  # of a phase and root


class _Calls:
    """The calls of one phase and root."""

    def __init__(self) -> None:
        self.count = 0
        self.noted = 0
        self.worst = -1


class _Forward(NamedTuple):
    module: Any
    allocated: int  # before it
    phase: PhaseName
    root: str
    grad_enabled: bool
    inference_mode: bool
    module_training: bool


class _State:
    def __init__(self) -> None:
        self.calls: dict[tuple[int, str], _Calls] = {}
        self.running: list[_Forward] = []


_state = process.own(_State)


def _before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _state.running.clear()
    if position.phase not in (recorder.VALIDATE, recorder.TEST):
        return
    root = scopes.root_of(module)
    if root is None or not root.parameters:
        return
    torch = sys.modules["torch"]
    _state.running.append(
        _Forward(
            module=module,
            allocated=recorder.allocated(),
            phase=recorder.PHASE_NAMES[position.phase],
            root=root.prefix.rstrip("/") or root.name,
            grad_enabled=torch.is_grad_enabled(),
            inference_mode=torch.is_inference_mode_enabled(),
            module_training=bool(module.training),
        )
    )


def _after(module: Any, result: Any) -> None:
    if not _state.running or _state.running[0].module is not module:
        return
    forward = _state.running.pop()
    if result is None and not forward.grad_enabled:  # it raised: what it had allocated is not what it keeps
        return
    tensors = [tensor for _, tensor in owners.tensors_in(result) if tensor.is_cuda]
    sizes = {owners.address_of(tensor): tensor.numel() * tensor.element_size() for tensor in tensors}
    output = sum(sizes.values())
    saved = max(0, recorder.allocated() - forward.allocated - output)
    calls = _state.calls.setdefault((position.phase, forward.root), _Calls())
    calls.count += 1
    if calls.noted >= _MAX_NOTES or saved <= calls.worst * _MORE:
        return
    calls.noted += 1
    calls.worst = saved
    notes.note(
        said.EvaluationForward(
            phase=forward.phase,
            root=forward.root,
            line=frames.script_line(sys._getframe(1)),
            grad_enabled=forward.grad_enabled,
            inference_mode=forward.inference_mode,
            module_training=forward.module_training,
            has_graph=result is None or any(tensor.requires_grad for tensor in tensors),
            saved_bytes=saved,
            output_bytes=output,
            calls=calls.count,
        )
    )


def install() -> None:
    events.root_enter.listen(_before)
    events.root_exit.listen(_after)
