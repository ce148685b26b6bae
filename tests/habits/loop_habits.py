"""All loops that are the script's own, by what they differ in."""

from __future__ import annotations

from accumulation_habits import ACCUMULATION_HABITS
from attention_habits import ATTENTION_HABITS
from backward_habits import BACKWARD_HABITS
from loader_habits import LOADER_HABITS
from loss_habits import LOSS_HABITS
from module_habits import MODULE_HABITS
from optimizer_habits import OPTIMIZER_HABITS
from schedule_habits import SCHEDULE_HABITS
from step_habits import STEP_HABITS

HABITS = [
    *STEP_HABITS,
    *SCHEDULE_HABITS,
    *LOADER_HABITS,
    *LOSS_HABITS,
    *MODULE_HABITS,
    *OPTIMIZER_HABITS,
    *ACCUMULATION_HABITS,
    *BACKWARD_HABITS,
    *ATTENTION_HABITS,
]
