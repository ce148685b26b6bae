"""What is known of each refused allocation of this process."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vramfit.base import process
from vramfit.contract import notes as said
from vramfit.contract import told


@dataclass
class RefusedAllocation:
    """One refused allocation. Sizes in bytes."""

    device: int
    tried: int
    total: int
    free: int
    stack: list[told.CodeFrame]
    held: list[said.TensorGroup] = field(default_factory=list)
    more: tuple[int, int] = (0, 0)  # tensors that `held` leaves out, and their bytes
    owned: dict[str, int] = field(default_factory=dict)  # weights, buffers, gradients, optimizer, tensors
    allocated: int = 0
    reserved: int = 0
    snapshot: dict[str, Any] | None = None
    summary: str = ""


class Collected:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.torch: Any = None
        self.moments: list[RefusedAllocation] = []
        self.errors = 0  # in all


collected = process.own(Collected)
