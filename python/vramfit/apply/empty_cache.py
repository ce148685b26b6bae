"""torch.cuda.empty_cache() when a phase begins: cached blocks of the last one go back to the driver."""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.base import events, recorder
from vramfit.contract import plans

ID = "empty_cache"


def install(torch: Any, options: plans.EmptyCache) -> None:
    phases = {recorder.PHASE_NAMES.index(name) for name in options.before}

    def phase_begins(phase: int) -> None:
        if phase in phases and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
            apply.applied(ID, f"the cache is emptied before {recorder.PHASE_NAMES[phase]}")

    events.phase_begin.listen(phase_begins)
