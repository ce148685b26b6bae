"""Plans: what was applied, what was refused and why."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Note

EffectKind = Literal[
    "label_weights",  # gradients may differ: labels of a mean loss had other weights
    "batch_statistics",  # batch norms average over fewer samples
    "other",
]


class PlanApplied(Note, kind="plan_applied"):
    """A technique of the plan was applied."""

    id: str
    text: str


class PlanRefused(Note, kind="plan_refused"):
    """A technique of the plan can't be applied to this script."""

    id: str
    text: str


class PlanObstacle(Note, kind="plan_obstacle"):
    """Why a technique would be refused by this script, seen in a run that applies none (VRAMFIT_OBSTACLES)."""

    id: str
    text: str
    loader: int | None  # it is so for parts of this one's batches


class PlanEffect(Note, kind="plan_effect"):
    """What an applied technique did to the training beyond its promise (steps left out)."""

    id: str
    text: str
    what: EffectKind = "other"


class Advice(Note, kind="advice"):
    """What a script does that frees no memory, or takes some, and what would: with the job's own figures."""

    text: str
