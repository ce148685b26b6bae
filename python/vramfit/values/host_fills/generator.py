"""How far each kind of fill moves a generator, and whether, put off, it gives what a real one gives: tried out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from vramfit.base import notes
from vramfit.values.host_fills.calls import LARGE
from vramfit.values.host_fills.programs import Step, defer, fills, whole_address

_CHECK_SIZES = (4096, 4101)  # elements

# How many numbers a fill of so many elements may take from the generator: normal_() works on 16 at a time, and what
# is over is made anew or made whole (aten/src/ATen/native/cpu/DistributionTemplates.h). Which holds is tried out.
_RULES: tuple[Callable[[int], int], ...] = (
    lambda elements: elements,
    lambda elements: elements + (16 if elements % 16 else 0),
    lambda elements: (elements + 15) // 16 * 16,
)


def skipped(state: Any, dtype: Any, numbers: int) -> Any:
    """The generator's state after so many random numbers of a type: one draw of 32 bits each, two for doubles."""
    moved = state.clone()
    fills.library.vramfit_host_skip(moved.data_ptr(), numbers * (2 if dtype.itemsize == 8 else 1))
    return moved


def rule_of(name: str, dtype: Any) -> Callable[[int], int] | None:
    """How many numbers this kind of fill takes; None unless, put off, it gives exactly what a real one gives."""
    key = (name, dtype)
    if key not in fills.rules:
        fills.rules[key] = None
        try:
            fills.rules[key] = _find_rule(name, dtype)
        except Exception as error:
            notes.hook_failed("host_fills.check", error)
    return fills.rules[key]


def _find_rule(name: str, dtype: Any) -> Callable[[int], int] | None:
    torch = sys.modules["torch"]
    first, second = (0.0, 0.02) if name == "normal_" else (-0.03, 0.05)
    rules = list(_RULES)
    with torch.inference_mode(False), torch.no_grad():
        for elements in (*_CHECK_SIZES, LARGE // dtype.itemsize + 5):
            real, late = (torch.empty(elements, dtype=dtype, device="cpu") for _ in range(2))
            generator = torch.Generator().manual_seed(elements)
            state = generator.get_state()
            fills.originals[name](real, first, second, generator=generator)
            after = generator.get_state()
            rules = [rule for rule in rules if torch.equal(skipped(state, dtype, rule(elements)), after)]
        same = bool(rules) and _is_same_when_late(real, late, Step(name, first, second, state))
    return rules[0] if same else None


def _is_same_when_late(real: Any, late: Any, fill: Step) -> bool:
    torch = sys.modules["torch"]
    steps = [fill]
    for step in (Step("erfinv_"), Step("mul_", 0.3), Step("add_", 0.01), Step("clamp_", -0.01, 0.01)):
        if real.dtype is torch.float32 and step.name in fills.functions:
            steps.append(step)
            _apply(step, real)
    if not defer(late, whole_address(late), steps):
        return False
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[real.element_size()]
    return bool(torch.equal(real.view(bits), late.view(bits)))


def _apply(step: Step, tensor: Any) -> None:
    arguments = {"clamp_": (step.first, step.second), "erfinv_": ()}.get(step.name, (step.first,))
    fills.originals.get(step.name, getattr(type(tensor), step.name))(tensor, *arguments)
