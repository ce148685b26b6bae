"""The private names of Lightning, by either of its packages' names.

Its documentation has the arguments of Trainer, but no attributes of those names; its loops, what they count, and the
settings of schedulers are in none of it. https://lightning.ai/docs/pytorch/stable/common/trainer.html
"""

from __future__ import annotations

from types import MappingProxyType

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

# -- a Trainer's settings

_SET_UP = "trainer.setup:_init_debugging_flags"
_TRAINER = "trainer.trainer:Trainer"
_LONG = "its passes are not cut short"
LIMITS = MappingProxyType(
    {part: _of_both(f"{_SET_UP}.limit_{part}_batches", _LONG) for part in ("train", "val", "test", "predict")}
)
accumulation = _of_both(f"{_TRAINER}.accumulate_grad_batches", "plans that accumulate are refused")
validation_interval = _of_both(
    f"{_SET_UP}.val_check_interval",
    "it may end without a validation, and under a plan validates after parts of batches",
)
validation_epochs = _of_both(
    "trainer.connectors.data_connector:_DataConnector.check_val_every_n_epoch",
    "it may end without a validation",
)
validation_batch = _of_both(
    f"{_TRAINER}.val_check_batch", "under a plan it validates after a fraction of parts of batches"
)
most_epochs = _of_both(f"{_TRAINER}.max_epochs", "its epochs are not counted on")
callbacks = _of_both(
    "trainer.connectors.callback_connector:_CallbackConnector.callbacks",
    "its callbacks are not looked at, and its epochs are run to their end",
)
network = _of_both(f"{_TRAINER}.lightning_module", "its module's own hooks are not looked at under a plan")
schedulers = _of_both(
    f"{_TRAINER}.lr_scheduler_configs",
    "learning rates that follow every n-th batch follow every n-th step under a plan",
)

# -- its loops

loop = _of_both(f"{_TRAINER}.fit_loop", "its training is not cut short")
loop_of_epoch = _of_both("loops.fit_loop:_FitLoop.epoch_loop", "its epochs are run to their end")
trainer = _of_both("loops.fit_loop:_FitLoop.trainer", "what a plan changes in its counts is not looked at")
batches_of_epoch = _of_both(
    "loops.fit_loop:_FitLoop.max_batches", "under a plan it validates after a fraction of parts of batches"
)
epochs_to_run = _of_both("loops.fit_loop:_FitLoop.max_epochs", "all of its epochs are run")
is_last_batch = _of_both("loops.progress:_BatchProgress.is_last_batch", "its epochs are run to their end")
counts_now = _of_both("loops.progress:_Progress.current", "its epochs are not counted on")
COUNTS = MappingProxyType(
    {
        name: _of_both(f"loops.progress:_ProcessedTracker.{name}", "its epochs are not counted on")
        for name in ("ready", "started", "processed", "completed")
    }
)

# -- how a scheduler is asked

_SCHEDULER = "utilities.types:LRSchedulerConfig"
interval = _of_both(f"{_SCHEDULER}.interval", schedulers.lost)
frequency = _of_both(f"{_SCHEDULER}.frequency", schedulers.lost)
follows_a_loss = _of_both(
    f"{_SCHEDULER}.reduce_on_plateau", "learning rates that follow the loss of a batch see that of a part of it"
)
