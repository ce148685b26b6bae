"""What a job's first optimizer steps made of its weights, and what its first evaluation put out, for a comparison with
and without a plan.

VRAMFIT_VERIFY, JSON: `steps`, after which the run ends; `samples`, of which a batch of a torch loader is made (0: all);
`group`, of so many samples batch norms take their statistics (0: of all that they are given); `outputs`, the forwards
of evaluations that are waited for beside the steps (0: none is waited for); `tokens`, of which about so many are left
of each text (0: all); `seconds` of the processor, after which two steps are enough (0: all are taken).
The two runs see the same samples and the same random numbers: generators are seeded alike, loaders read in this
process, dropout is off (its masks are drawn per batch, so no two batch sizes have the same), and a pass over the data
is its first two batches and its last, which may be a smaller one.

Values have to be computed (VRAMFIT_VALUES=cpu), or everything is 0.
"""

from __future__ import annotations

import json
import os
from typing import Any


def wanted() -> dict[str, Any]:
    """Empty where nothing is to be verified."""
    try:
        asked = json.loads(os.environ.get("VRAMFIT_VERIFY") or "{}")
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


def install(torch: Any) -> None:
    asked = wanted()
    if not asked:
        return
    from vramfit.verify import record, sameness

    sameness.install(torch, int(asked.get("samples", 0)), int(asked.get("group", 0)), int(asked.get("tokens", 0)))
    record.install(torch, int(asked.get("steps", 3)), int(asked.get("outputs", 0)), float(asked.get("seconds", 0)))
