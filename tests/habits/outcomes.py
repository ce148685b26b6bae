"""What became of a habit under a technique: trained with and without it, values computed, and compared."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hooks"))

from habit import Habit
from hooked_job import STAGE, Finished, Job

CARD = 8 << 30
FOUR = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}
TECHNIQUES: dict[str, tuple[dict[str, Any], ...]] = {
    "micro_batch": (FOUR,),
    "split_forward": ({"id": "split_forward", "parts": 4},),
    "fp16": ({"id": "autocast", "dtype": "float16", "scaler": True},),
    "bf16": ({"id": "autocast", "dtype": "bfloat16", "scaler": False},),
    "checkpoint": ({"id": "checkpoint", "modules": ["2"]},),
    "selective": ({"id": "checkpoint", "modules": ["2"], "keep": "products"},),
    "chunked_loss": ({"id": "chunked_loss", "chunk_bytes": 64},),
    "offload": ({"id": "offload_activations", "at_least": 0},),
    "offload_optimizer": ({"id": "offload_optimizer", "at_once": 64},),
    "release": ({"id": "release_gradients"},),
    "foreach=False": ({"id": "optimizer", "options": {"foreach": False}},),
    "fused": ({"id": "optimizer", "options": {"fused": True}},),
    "zero_grad": ({"id": "zero_grad_set_to_none"},),
    "lora": ({"id": "lora", "rank": 1},),
    "half_weights": ({"id": "half_weights"},),
    "attention": ({"id": "attention"},),
    "sparse": ({"id": "sparse_embeddings"},),
    "sparse_adam": ({"id": "sparse_embeddings", "optimizer": "SparseAdam"},),
    "fp16+micro_batch": ({"id": "autocast", "dtype": "float16", "scaler": True}, FOUR),
}
# How far the update of the weights may be from what it is without the technique, as a share of that update.
PROMISES = {
    "micro_batch": 1e-3,
    "split_forward": 1e-3,
    "fp16": 0.05,
    "bf16": 0.25,
    "checkpoint": 0.0,
    "selective": 0.0,
    "chunked_loss": 1e-3,
    "offload": 0.0,
    "offload_optimizer": 0.0,
    "release": 0.0,
    "foreach=False": 1e-3,
    "fused": 1e-3,
    "zero_grad": 0.0,
    "lora": 0.0,
    "half_weights": 0.25,
    "attention": 1e-3,
    "sparse": 1e-3,
    "sparse_adam": 0.0,
    "fp16+micro_batch": 0.05,
}
OWN = {"float16": "fp16", "bfloat16": "bf16"}


@dataclass
class Outcome:
    # "equal", "rounding", "named" (as something else), "found" (by verify), "refused", "broke"; else it was silent:
    # "not a number", "other"
    word: str
    text: str = ""
    distance: float = math.nan

    @property
    def is_honest(self) -> bool:
        return self.word in ("equal", "rounding", "named", "found", "refused", "broke")


def train(job: Job, habit: Habit, technique: str | None) -> Finished:
    options = TECHNIQUES[technique] if technique is not None else ()
    return job.run(habit.script(), *options, card=CARD, VRAMFIT_VALUES="cpu")


def judge(plain: Finished, changed: Finished, technique: str) -> Outcome:
    refusals = changed.of_kind("plan_refused")
    if refusals:
        return Outcome("refused", refusals[0]["text"])
    if changed.exit_code != 0:
        return Outcome("broke", changed.stderr.strip().splitlines()[-1])
    without, with_it = plain.output(), changed.output()
    distance = relative_distance(without, with_it)
    if not math.isfinite(distance):
        return Outcome("not a number", distance=distance)
    is_equal = without["after"] == with_it["after"] and without["seen"] == with_it["seen"]
    if is_equal and not differing_moment(without["moments"], with_it["moments"], 0.0):
        return Outcome("equal", distance=0.0)
    if effects := changed.of_kind("plan_effect"):
        return Outcome("named", effects[0]["text"], distance)
    differing = first_difference(without["seen"], with_it["seen"], PROMISES[technique])
    # The loop's body runs once a micro-batch: that it logs as often is what the plan says.
    if differing and not ("micro_batch" in technique and "values instead of" in differing):
        return Outcome("other", f"the script saw {differing}", distance)
    precision = {note["autocast"] for note in plain.of_kind("precision")}  # the script's own rounds as much
    promise = max([PROMISES[technique], *(PROMISES[OWN[name]] for name in precision if name in OWN)])
    if distance > promise:
        return Outcome("other", distance=distance)
    if apart := differing_moment(without["moments"], with_it["moments"], promise):
        return Outcome("other", f"the optimizer's state {apart}", distance)
    return Outcome("rounding", distance=distance)


def is_found_by_verify(folder: Path, habit: Habit, technique: str) -> bool:
    """Whether `vramfit verify` says of the pair that it trains something else. Needs the whole build."""
    if not (STAGE / "bin" / "vramfit").exists():
        return False
    plan = folder / "verify-plan.json"
    plan.write_text(json.dumps({"version": 2, "name": technique, "techniques": TECHNIQUES[technique]}))
    script = folder / "verified.py"
    script.write_text(habit.script())
    command = [
        str(STAGE / "bin" / "vramfit"),
        "verify",
        str(plan),
        "--gpu",
        "rtx3090",
        "--",
        sys.executable,
        str(script),
    ]
    done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return done.returncode == 1 and "trains something else" in done.stdout


def relative_distance(without: dict[str, Any], with_it: dict[str, Any]) -> float:
    """The distance of the weights' updates, over all tensors together."""
    apart = moved = 0.0
    for name, before in without["before"].items():
        for start, plain, changed in zip(before, without["after"][name], with_it["after"][name]):
            apart += (plain - changed) ** 2
            moved += (plain - start) ** 2
    return math.sqrt(apart / moved) if moved else math.nan


def differing_moment(without: dict[str, list[float]], with_it: dict[str, list[float]], share: float) -> str:
    """Names what optimizers keep of all parameters that is further apart than `share` allows for; of squares it is
    twice as far. What only one of the runs keeps is kept in another way: codes of fewer bits, rows and columns."""
    apart: dict[str, float] = {}
    sizes: dict[str, float] = {}
    for key in without.keys() & with_it.keys():
        name = key.rpartition(".")[2]
        if len(without[key]) == len(with_it[key]):
            apart[name] = apart.get(name, 0.0) + sum((a - b) ** 2 for a, b in zip(without[key], with_it[key]))
            sizes[name] = sizes.get(name, 0.0) + sum(a**2 for a in without[key])
    for name, square in sorted(apart.items()):
        if square > 0 and math.sqrt(square / sizes[name] if sizes[name] else math.inf) > 2 * share:
            return f"`{name}` differs by {math.sqrt(square / sizes[name]) if sizes[name] else math.inf:.2g}"
    return ""


def first_difference(without: Any, with_it: Any, share: float) -> str:
    """Names what the script itself saw that is another than before; numbers within `share` are the same."""
    if isinstance(without, dict):
        found = (first_difference(value, with_it[name], share) for name, value in without.items())
    elif isinstance(without, list):
        if len(without) != len(with_it):
            return f"{len(with_it)} values instead of {len(without)}"
        found = (first_difference(value, other, share) for value, other in zip(without, with_it))
    elif isinstance(without, float):
        close = math.isclose(without, with_it, rel_tol=max(10 * share, 1e-5), abs_tol=1e-6)
        return "" if close else f"{with_it!r} instead of {without!r}"
    else:
        return "" if without == with_it else f"{with_it!r} instead of {without!r}"
    return next((text for text in found if text), "")


def shortened(text: str, length: int = 100) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
