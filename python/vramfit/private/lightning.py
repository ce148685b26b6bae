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
parse_batches = _of_both(
    "loops.fit_loop:_parse_num_batches", "a fraction of its batches is taken of parts of batches under a plan"
)
fit_loop = _of_both("loops.fit_loop:_FitLoop", "under a plan it validates after a fraction of parts of batches")
epoch_loop = _of_both(
    "loops.training_epoch_loop:_TrainingEpochLoop",
    "what it does every n-th batch follows parts of batches under a plan",
)
set_up_data = _of_both(
    "loops.fit_loop:_FitLoop.setup_data", "under a plan it validates after a fraction of parts of batches"
)
update_rates = _of_both(
    "loops.training_epoch_loop:_TrainingEpochLoop._update_learning_rates",
    "learning rates that follow every n-th batch follow every n-th step under a plan",
)
build_arguments = _of_both(
    "loops.training_epoch_loop:_TrainingEpochLoop._build_kwargs", "batch_idx counts parts of batches under a plan"
)
batch_progress = _of_both(
    "loops.training_epoch_loop:_TrainingEpochLoop.batch_progress", "its epochs are run to their end"
)
epoch_progress = _of_both("loops.fit_loop:_FitLoop.epoch_progress", "its epochs are not counted on")
