"""Runs a script of the exam and tells what it holds after a third, two thirds and all of its optimizer steps.

vramfit run --gpu a100 --steps all -- PYTHON bench/doctor/levels.py bench/doctor/scripts/001--list_of_losses.py
"""

from __future__ import annotations

import runpy
import sys

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook


def main() -> None:
    live: list[int] = []
    peak: list[int] = []

    def note(*_: object) -> None:
        live.append(torch.cuda.memory_allocated())
        peak.append(torch.cuda.max_memory_allocated())

    register_optimizer_step_post_hook(note)
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
    at = [len(live) // 3, 2 * len(live) // 3, len(live) - 1]
    print(f"{len(live)} steps; live", *(live[step] for step in at), "peak", *(peak[step] for step in at), "bytes")


if __name__ == "__main__":
    main()
