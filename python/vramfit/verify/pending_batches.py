"""Batches that a loop has fetched and no backward pass has followed yet.

fetch 1  train 1  fetch 2  skip  fetch 3  train 3      a loop: what is fetched takes the place of the last
fetch 1  fetch 2  train 1  fetch 3  train 2  train 3    ahead of the training, by one or by all parts of a step
"""

from __future__ import annotations

from collections import deque

Batch = tuple[int, float]  # samples, and the sum of all numbers in them


class PendingBatches:
    def __init__(self) -> None:
        self._waiting: deque[Batch] = deque()
        self._loader = 0
        self._is_ahead = False  # of its training, in this pass
        self._is_settled = False

    def add(self, loader: int, begins: bool, batch: Batch) -> None:
        if begins or loader != self._loader:
            self._waiting.clear()
            self._loader, self._is_ahead, self._is_settled = loader, False, False
        if self._is_settled and not self._is_ahead:
            self._waiting.clear()
        self._waiting.append(batch)

    def take(self) -> Batch:
        """Takes the batch that is trained on; an empty one where it was taken before."""
        if not self._is_settled:
            self._is_settled, self._is_ahead = True, len(self._waiting) > 1
        return self._waiting.popleft() if self._waiting else (0, 0.0)

    def is_one_waiting(self) -> bool:
        return bool(self._waiting) and not self._is_ahead

    def forget_last(self) -> None:
        """It was for an evaluation."""
        if self._waiting and not self._is_settled:
            self._waiting.clear()
