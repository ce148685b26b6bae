"""What an evaluation gathers on the card goes to the CPU batch by batch, as `.cpu()` where it is gathered would do."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from vramfit import apply
from vramfit.base import events, importing, process
from vramfit.contract import plans
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import transformers as of_trainer
from vramfit.steer import gathering

ID = "gather_on_cpu"
_SEEN = 2  # batches before a list is looked for


class GatherOnCpu:
    """Looks for the lists once a pass, and moves what came to them before each batch and at the end."""

    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self) -> None:
        self._pass: Pass | None = None
        self._lists: list[list[Any]] = []
        self._moved: list[int] = []

    def in_child(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._pass, self._lists, self._moved = None, [], []

    def before_batch(self, this_pass: Pass) -> None:
        if this_pass.trained:
            return
        if self._pass is not this_pass:
            self.forget()
            self._pass = this_pass
        if not self._lists and this_pass.delivered == _SEEN:
            found = gathering.find(sys._getframe(1), _SEEN)
            self._lists = found.lists if found is not None else []
            self._moved = [0] * len(self._lists)
            if found is not None and found.lists:
                events.gathered(found)
                apply.applied(ID, f"`{found.name}` ({found.line}) is kept on the CPU")
        for index, items in enumerate(self._lists):
            if len(items) < self._moved[index]:  # emptied meanwhile
                self._moved[index] = 0
            gathering.move(items, self._moved[index])
            self._moved[index] = len(items)

    def after_pass(self, this_pass: Pass) -> None:
        if self._pass is this_pass:
            self.forget()  # nothing of the script's is kept alive by us


def _trainer(module: ModuleType) -> None:
    """Hugging Face's Trainer has a setting for it."""
    original = module.Trainer.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if getattr(self.args, "eval_accumulation_steps", 0) is None:
            self.args.eval_accumulation_steps = 1
            apply.applied(ID, "eval_accumulation_steps=1")

    module.Trainer.__init__ = init


def install(torch: Any, options: plans.GatherOnCpu) -> None:
    technique = process.own(GatherOnCpu)
    # First: the cut measures memory before each batch, and has to see it without what was moved.
    loaders.before_batch.insert(0, technique.before_batch)
    loaders.after_pass.append(technique.after_pass)
    importing.after_import(of_trainer.MODULE, _trainer)
