"""The least that a step's recomputation costs within a byte budget, by a mixed-integer program that HiGHS solves.

It states the simulation of `src/plan/recompute/step_peak.cc` in linear constraints, and shares nothing with the
solver that it judges. For each module there is one binary number, whether it runs again; one more for a module with
others inside it, whether it runs again as a whole; and what it frees. Constraints of modules inside one that runs again
as a whole are off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import highspy

_MIB = 1 << 20
_MICROSECONDS = 1e6  # HiGHS takes costs that differ by less than 1e-6 for the same


@dataclass
class _Sum:
    """A constant and multiples of the program's variables."""

    constant: float = 0.0
    parts: dict[int, float] = field(default_factory=dict)

    def __add__(self, other: _Sum) -> _Sum:
        parts = dict(self.parts)
        for variable, factor in other.parts.items():
            parts[variable] = parts.get(variable, 0.0) + factor
        return _Sum(self.constant + other.constant, parts)

    def __mul__(self, factor: float) -> _Sum:
        return _Sum(self.constant * factor, {variable: part * factor for variable, part in self.parts.items()})

    def __sub__(self, other: _Sum) -> _Sum:
        return self + other * -1


class _Program:
    def __init__(self, step: dict[str, Any], budget: int) -> None:
        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("mip_rel_gap", 0.0)
        self._variables = 0
        self._modules = step["modules"]
        self._budget = budget / _MIB
        levels = [
            self._level(each, name) for each in self._modules for name in ("forward_peak", "repeat_rise", "freed")
        ]
        self._most = 2 * (max(levels) + self._level(step, "peak"))  # no sum of a level and what rises is larger
        self._children: dict[int, list[int]] = {}
        for place, module in enumerate(self._modules):
            self._children.setdefault(module["parent"], []).append(place)
        self._again = [self._binary(cost * _MICROSECONDS, bool(each["may_repeat"] and each["freed"] > 0))
                       for each, cost in zip(self._modules, step["costs"])]  # fmt: skip
        freed = self._walk(self._children.get(-1, []), _Sum(), [], _Sum())
        self._at_most(_Sum(self._level(step, "end_peak")) - freed, _Sum(self._budget))

    def solve(self) -> float | None:
        """The least cost; None: no set of modules is within the budget."""
        self._highs.run()
        if self._highs.getModelStatus() == highspy.HighsModelStatus.kInfeasible:
            return None
        assert self._highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
        return self._highs.getInfo().objective_function_value / _MICROSECONDS

    @staticmethod
    def _level(of: dict[str, Any], name: str) -> float:
        return of[name] / _MIB

    def _variable(self, low: float, high: float, cost: float, is_whole: bool) -> _Sum:
        self._highs.addCol(cost, low, high, 0, [], [])
        if is_whole:
            self._highs.changeColIntegrality(self._variables, highspy.HighsVarType.kInteger)
        self._variables += 1
        return _Sum(0.0, {self._variables - 1: 1.0})

    def _binary(self, cost: float = 0.0, is_free: bool = True) -> _Sum:
        return self._variable(0, 1 if is_free else 0, cost, True)

    def _at_most(self, left: _Sum, right: _Sum) -> None:
        difference = left - right
        used = {variable: factor for variable, factor in difference.parts.items() if factor != 0}
        self._highs.addRow(-highspy.kHighsInf, -difference.constant, len(used), list(used), list(used.values()))

    def _is_split(self, place: int) -> bool:
        return any(self._modules[child]["backward_peak"] > 0 for child in self._children.get(place, []))

    def _inside(self, place: int) -> list[int]:
        return [one for child in self._children.get(place, []) for one in [child, *self._inside(child)]]

    def _within(self, level: float, rises: list[_Sum], freed: _Sum, off: _Sum) -> None:
        """At a moment: what is there, each of what may rise at the most, and what was freed before it."""
        for rise in [_Sum(), *rises]:
            self._at_most(_Sum(level) + rise - freed, _Sum(self._budget) + off * self._most)

    def _walk(self, siblings: list[int], freed: _Sum, around: list[_Sum], off: _Sum) -> _Sum:
        """What is freed after these. `around`: what rises while modules around them run again; `off`: above 0 where
        one of those runs again as a whole."""
        for place in siblings:
            module, again = self._modules[place], self._again[place]
            rises = [*around, again * self._level(module, "repeat_rise")]
            own = self._variable(-self._most, self._most, 0.0, False)  # what it frees
            whole = off
            if self._is_split(place):
                inside = [self._again[one] for one in self._inside(place)]
                some = self._binary()  # a module inside it runs again
                for one in inside:
                    self._at_most(one, some)
                self._at_most(some, sum(inside, _Sum()))
                alone = self._binary()  # it runs again as a whole
                self._at_most(alone, again)
                self._at_most(alone, _Sum(1) - some)
                self._at_most(again - some, alone)
                within = self._walk(self._children[place], freed, rises, off + alone) - freed
                self._at_most(own, within + again * self._most)
                whole = off + _Sum(1) - alone
            else:
                self._at_most(own, again * self._level(module, "freed"))
            self._at_most(own, _Sum(self._level(module, "freed")) + (_Sum(1) - again) * self._most)
            self._within(self._level(module, "forward_peak"), rises, freed, whole)
            self._within(self._level(module, "backward_peak"), [], freed, whole)
            freed = freed + own
            self._within(self._level(module, "after_peak"), around, freed, off)
        return freed


def find_least_cost(step: dict[str, Any], budget: int) -> float | None:
    """Seconds; `step` as `vramfit_recompute_tool` has it, `budget` in bytes. None: nothing is within the budget."""
    return _Program(step, budget).solve()
