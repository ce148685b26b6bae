"""The private names of Lightning, by either of its packages' names."""

from __future__ import annotations

from vramfit.private.names import Attribute

LIBRARY = "lightning"
PACKAGES = ("lightning.pytorch", "pytorch_lightning")
MODULES = tuple(f"{package}.trainer.trainer" for package in PACKAGES)
READY = MODULES


def _of_both(path: str, lost: str) -> Attribute:
    return Attribute(f"{PACKAGES[0]}.{path}", lost, elsewhere=f"{PACKAGES[1]}.{path}")


request_loader = _of_both("loops.fit_loop:_request_dataloader", "its batches are not split as a plan wants it")
batch_progress = _of_both(
    "loops.training_epoch_loop:_TrainingEpochLoop.batch_progress", "its epochs are run to their end"
)
epoch_progress = _of_both("loops.fit_loop:_FitLoop.epoch_progress", "its epochs are not counted on")
