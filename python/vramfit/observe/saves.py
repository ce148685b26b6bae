"""Saving: its phase.

What a job on a virtual card saves goes to a private layer over the files (docs/decisions/0007-a-layer-over-files.md),
whoever writes it. Nothing is redirected here.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from vramfit.base import importing
from vramfit.observe import phases


def _safetensors(module: ModuleType) -> None:
    for name in ("save_file", "save_model"):
        if hasattr(module, name):
            setattr(module, name, phases.saving(getattr(module, name)))


def install(torch: Any) -> None:
    torch.save = torch.serialization.save = phases.saving(torch.save)
    importing.after_import("safetensors.torch", _safetensors)
