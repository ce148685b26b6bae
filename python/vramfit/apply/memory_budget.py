"""torch.compile saves less for backward and works the rest out again there: `activation_memory_budget`.

The partitioner of AOTAutograd reads it for each graph that it divides into forward and backward, which is when the
compiled network is first called. So it is set where the script calls torch.compile: what the script set before gives
way, and what it sets later is a refusal. Backends that divide nothing ("eager", "cudagraphs") save what they did.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from vramfit import apply
from vramfit.base import events
from vramfit.base.around import around
from vramfit.contract import plans
from vramfit.observe import compiling
from vramfit.private import torch as of_torch

ID = "memory_budget"


def install(torch: Any, options: plans.MemoryBudget) -> None:
    def set_budget(*_: Any, **__: Any) -> Iterator[Any]:
        if compiling.budget() is None:
            apply.refused(ID, "torch.compile of this release of PyTorch has no activation_memory_budget")
        of_torch.memory_budget.replace(options.budget)
        yield

    def at_step(_optimizer: Any) -> None:
        if not compiling.is_used():
            return  # first_step.py refuses
        budget = compiling.budget()
        if budget == options.budget:
            apply.applied(ID, f"torch.compile saves at most {budget:g} of what it would for backward")
        elif budget is not None:
            apply.refused(ID, f"the script itself sets activation_memory_budget to {budget:g} after torch.compile")

    torch.compile = around("memory_budget", torch.compile, set_budget)
    events.step_begin.listen(at_step)
