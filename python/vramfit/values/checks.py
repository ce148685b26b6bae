"""Checks that an operator makes within itself, of truth values that kernels would have worked out.

`torch.linalg.eig` asks on the card whether its input is finite, reads one byte, and refuses. Kernels of a virtual card
do nothing, so that byte is 0, and 0 is no more the answer than 1 is: an operator that read some and refuses is asked
again, with the other answer to the last that it had read, until it returns or refuses at one that it had the other
answer to. What a truth value means (eig reads whether there were errors afterwards, 0 lets it go on) is in no list.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from vramfit.base import process
from vramfit.contract.functions import bind, find_virtual_gpu

_MOST = 1 << 16  # as many truth values are answered for an operator


class _Card:
    """The virtual GPU's side, where this process has one."""

    def __init__(self) -> None:
        library = find_virtual_gpu()
        self.is_there = library is not None
        if library is not None:
            self.reads = bind(library, "vramfit_gpu_truth_reads")
            self.answer = bind(library, "vramfit_gpu_answer_truths")


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.passed_with: dict[str, int] = {}


_state = process.own(_State)


@process.cached()
def _card() -> _Card:
    return _Card()


def passed(operator: Callable[[], Any], name: str = "") -> Any:
    """What `operator` returns, its checks of values that were not computed passed either way. What passed is remembered
    by `name`, as each refusal allocates what the operator did before it.
    """
    card = _card()
    if not card.is_there:
        return operator()
    remembered = _state.passed_with.get(name, 0)
    answers, first = remembered, None
    while True:
        before = card.reads()
        card.answer(answers)
        try:
            result = operator()
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            if remembered:
                answers = remembered = 0
                continue
            last = 1 << (card.reads() - before) >> 1  # the bit of the last that it read; 0 where it read none
            if not last or last & answers or last >= _MOST:
                raise first or error from None
            first, answers = first or error, answers | last
        else:
            if name and answers:
                _state.passed_with[name] = answers
            return result
        finally:
            card.answer(0)


def passing(original: Callable[..., Any]) -> Callable[..., Any]:
    """`original` for a run without a dispatch mode, where nothing else stands between the script and the operator."""

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (args and isinstance(args[0], torch.Tensor) and args[0].is_cuda):
            return original(*args, **kwargs)
        return passed(functools.partial(original, *args, **kwargs), original.__name__)

    return call
