"""What goes from the host to the card and back, and what the host reads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from vramfit.base.recorder import SAVE
from vramfit.observe import phases
from vramfit.private import operators as of_operators
from vramfit.values import steering
from vramfit.values.tracked import lines, sized, witness
from vramfit.values.tracked.calls import MOST_CHOSEN, MOST_ELEMENTS, MOST_GIVEN, MOST_READ, Call, is_card, is_discrete
from vramfit.values.tracked.computing import plain
from vramfit.values.tracked.states import KNOWN, OPEN, UNKNOWN, host, put, set_state, state_of


def copy(call: Call) -> Any:
    if call.operator.name == of_operators.copy.full_name:
        return _to_copy(call)
    target, source = call.args[0], call.args[1]
    if source.is_cuda and not target.is_cuda:
        _make_copy_readable(source)
        call.operator.overload(*call.args, **call.kwargs)
        _read_into(target, source)
        return target
    if source.is_cuda and is_discrete(target) and state_of(source) == UNKNOWN and source.numel() <= MOST_CHOSEN:
        witness.give_values(source)
    state = state_of(source) if source.is_cuda or _is_taken(source) else UNKNOWN
    call.operator.overload(*call.args, **call.kwargs)
    if state != UNKNOWN and source.numel() <= MOST_ELEMENTS and target.numel() <= MOST_ELEMENTS:
        put(target, host(source), state)
    elif state_of(target) != state:
        set_state(target, UNKNOWN)
    return target


def _is_taken(source: Tensor) -> bool:
    """Whether what the host gives is kept: small, or no batch and no weight."""
    return source.numel() <= (MOST_ELEMENTS if is_discrete(source) else MOST_GIVEN)


def _to_copy(call: Call) -> Any:
    source = call.args[0]
    goes_to_card = is_card(call.kwargs.get("device")) or (call.kwargs.get("device") is None and source.is_cuda)
    if not goes_to_card:
        _make_copy_readable(source)
        result = call.operator.overload(*call.args, **call.kwargs)
        _read_into(result, source)
        return result
    wanted = call.kwargs.get("dtype") or source.dtype
    if not source.is_cuda:
        result = call.operator.overload(*call.args, **call.kwargs)
        if _is_taken(source) and state_of(result) == UNKNOWN:
            put(result, source, KNOWN)
        return result
    if source.dtype == torch.bool and wanted != torch.bool and source.numel() <= MOST_CHOSEN:
        sized.take_for_full(source)
    return plain(call)


def _make_copy_readable(source: Tensor) -> None:
    """What is saved steers nothing: it is copied as it is (whole storages, as bytes), and training goes on with it."""
    if phases.position.phase != SAVE:
        make_readable(source)


def make_readable(source: Tensor, says: bool = True) -> None:
    """Called before the host reads: unknown values are chosen, and what was chosen is said where it may decide
    something."""
    state = state_of(source)
    if state == UNKNOWN and 0 < source.numel() <= MOST_READ:
        witness.give_values(source)
        state = OPEN
    if not says:
        return
    if state < KNOWN and is_discrete(source):
        read = _what_is_read(source)
        lines.say(f"{read} that the host reads", is_branch=read == steering.BRANCH)
    elif state < KNOWN and source.numel() == 1 and (decided := steering.decided_by(lines.asking_frame())):
        lines.say(decided, is_branch=decided == steering.BRANCH)


def _what_is_read(source: Tensor) -> str:
    if source.numel() == 1:
        return steering.BRANCH if source.dtype == torch.bool else "a whole number"
    return "truth values" if source.dtype == torch.bool else "whole numbers"


def _read_into(target: Tensor, source: Tensor) -> None:
    """The card's own kernels would have gathered or cast it."""
    if source.numel() and state_of(source) != UNKNOWN:
        target.copy_(host(source))


def read(call: Call) -> Any:
    result = call.operator.overload(*call.args, **call.kwargs)
    if call.operator.name == "aten::equal":
        if call.least_known() == UNKNOWN:
            if call.mode.says:
                lines.say(f"{steering.BRANCH} (equal), taken for true", is_branch=True)
            return True
        if call.least_known() < KNOWN and call.mode.says:
            lines.say(f"{steering.BRANCH} (equal)", is_branch=True)
        return torch.equal(host(call.args[0]), host(call.args[1])) if call.is_small() else True
    make_readable(call.args[0], call.mode.says)
    return host(call.args[0]).item() if state_of(call.args[0]) != UNKNOWN else result
