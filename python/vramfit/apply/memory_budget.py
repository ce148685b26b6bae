"""torch.compile saves less for backward and works the rest out again there: `activation_memory_budget`.

The partitioner of AOTAutograd reads it for each graph that it divides into forward and backward, which is when the
compiled network is first called. So it is set where the script calls torch.compile; what the script itself sets, before
or after, is a refusal. Backends that divide nothing ("cudagraphs") save what they did.

That something compiled trains shows in the graph of a loss. Where losses of a whole step have nothing of it, the budget
is nobody's; with several optimizers that may be another's turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from vramfit import apply
from vramfit.base import events, process
from vramfit.base.around import around
from vramfit.contract import plans
from vramfit.observe import compiling
from vramfit.observe.phases import position

ID = "memory_budget"
_WHOLE = 1  # the setting where nobody sets it
# What is compiled, and what hides its own graph, as reentrant checkpointing does.
_COMPILED = ("CompiledFunctionBackward", "CheckpointFunctionBackward")
_MOST_NODES = 100_000


class MemoryBudget:
    KEEPS = process.ALL

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._is_set = False
        self._optimizers = 0
        self._are_returned = False
        self._trains = False  # something compiled, of what backward passes went through so far

    def set(self, *_: Any, **__: Any) -> Iterator[Any]:
        """Around torch.compile."""
        own = compiling.budget()
        if own is None:
            apply.refused(ID, "torch.compile of this release of PyTorch has no activation_memory_budget")
        elif not self._is_set and own not in (_WHOLE, self._budget):
            apply.refused(ID, f"the script itself sets activation_memory_budget to {own:g} before torch.compile")
        elif not self._is_set:
            self._is_set = True
            compiling.set_budget(self._budget)
        yield

    def learn_optimizer(self, _optimizer: Any) -> None:
        self._optimizers += 1

    def before_backward(self, tensors: Any) -> None:
        if not self._trains and compiling.is_used():
            self._trains = _is_compiled(list(tensors) if isinstance(tensors, (list, tuple)) else [tensors])

    def gradients_returned(self, _inputs: Any, _gradients: Any) -> None:
        """Their graph is seen by nobody. A penalty's come beside a loss that is looked at."""
        self._are_returned = True

    def at_step(self, _optimizer: Any) -> None:
        if not compiling.is_used():
            return  # first_step.py refuses
        budget = compiling.budget()
        if budget is not None and budget != self._budget:
            apply.refused(ID, f"the script itself sets activation_memory_budget to {budget:g} after torch.compile")
        elif self._trains or is_off() or (self._are_returned and not position.trained):
            apply.applied(ID, f"torch.compile saves at most {self._budget:g} of what it would for backward")
        elif position.trained and self._optimizers < 2:
            apply.refused(ID, "nothing that the script compiles by torch.compile is trained")


def is_off() -> bool:
    """Whether compiling is switched off, as it is while values are computed."""
    return os.environ.get("TORCHDYNAMO_DISABLE") == "1"


def _is_compiled(roots: list[Any]) -> bool:
    """Whether the graph that ends there goes through what was compiled."""
    waiting = [root.grad_fn for root in roots if getattr(root, "grad_fn", None) is not None]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        if node.name().startswith(_COMPILED):
            return True
        further = {child for child, _ in node.next_functions if child is not None} - seen
        seen |= further
        waiting += further
    return False


def install(torch: Any, options: plans.MemoryBudget) -> None:
    technique = process.own(MemoryBudget, options.budget)
    torch.compile = around("memory_budget", torch.compile, technique.set)
    events.optimizer_made.listen(technique.learn_optimizer)
    events.backward_begin.listen(technique.before_backward)
    events.gradients_returned.listen(technique.gradients_returned)
    events.step_begin.listen(technique.at_step)
