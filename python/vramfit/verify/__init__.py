"""What a job's first optimizer steps made of its weights, and what its first evaluation put out, for a comparison with
and without a plan.

VRAMFIT_VERIFY holds `asked.FirstSteps` as JSON.
The two runs see the same samples and the same random numbers: generators are seeded alike, loaders read in this
process, dropout is off (its masks are drawn per batch, so no two batch sizes have the same), and a pass over the data
is its first two batches and its last, which may be a smaller one.

Values have to be computed (VRAMFIT_VALUES=cpu), or everything is 0.
"""

from __future__ import annotations

import json
import os
from typing import Any

from vramfit.contract import asked
from vramfit.contract.fields import read


def wanted() -> asked.FirstSteps | None:
    """None where nothing is to be verified."""
    text = os.environ.get("VRAMFIT_VERIFY")
    try:
        return read(asked.FirstSteps, json.loads(text)) if text else None
    except (TypeError, ValueError):
        return None


def install(torch: Any) -> None:
    first = wanted()
    if first is None:
        return
    from vramfit.verify import record, sameness

    sameness.install(torch, first.samples, first.group, first.parts, first.tokens, first.side)
    record.install(torch, first.steps, first.outputs, first.seconds)
